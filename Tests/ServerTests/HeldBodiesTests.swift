import Server
import Synchronization
import Testing

@Suite("Bodies in memory")
struct HeldBodiesTests {
    private static let kilobyte = 1_024
    /// 1,024 KB of memory, 768 KB of it for large bodies: three of 128 KB, each counted twice.
    private static let limits = BodyAllowance.Limits(total: 1_024 * kilobyte, reserve: 256 * kilobyte)

    /// Names of the bodies whose uploads were closed.
    private final class Closed: Sendable {
        private let names = Mutex<[String]>([])
        var all: [String] { names.withLock { $0 } }
        func note(_ name: String) { names.withLock { $0.append(name) } }
    }

    private static func take(
        _ kilobytes: Int, _ id: HeldBodies.ID, _ bodies: inout HeldBodies, at seconds: Int64
    ) -> (isTaken: Bool, closed: Int) {
        let (isTaken, closed) = bodies.take(kilobytes * kilobyte, for: id, within: limits, at: .seconds(seconds))
        for body in closed { body.close() }
        return (isTaken, closed.count)
    }

    private static func add(
        _ name: String, _ bodies: inout HeldBodies, _ closed: Closed = Closed(), at seconds: Int64 = 0
    ) -> HeldBodies.ID {
        bodies.add(HeldBody(begun: .seconds(seconds), close: { closed.note(name) }))
    }

    // T20
    @Test("that are large leave the reserve to small ones")
    func reserve() {
        var bodies = HeldBodies()
        for name in ["a", "b", "c"] {
            let id = Self.add(name, &bodies)
            #expect(Self.take(128, id, &bodies, at: 0) == (true, 0))
        }
        let fourth = Self.add("d", &bodies)
        // 64 KB is small; one byte more is not.
        #expect(Self.take(64, fourth, &bodies, at: 1) == (true, 0))
        #expect(Self.take(1, fourth, &bodies, at: 1) == (false, 0))
        #expect(bodies.total == 768 * Self.kilobyte && bodies.large == bodies.total)
        for _ in 0..<2 {
            let small = Self.add("small", &bodies, at: 1)
            #expect(Self.take(64, small, &bodies, at: 1) == (true, 0))
        }
        #expect(bodies.total == 1_024 * Self.kilobyte)
    }

    // T20
    @Test("give way where they make the least progress, the oldest first; one that is slower than all is refused itself")
    func slowest() {
        let closed = Closed()
        var bodies = HeldBodies()
        let ids = ["a", "b", "c"].enumerated().map { number, name in
            let id = Self.add(name, &bodies, closed, at: Int64(number))
            #expect(Self.take(100, id, &bodies, at: Int64(number)) == (true, 0))
            return id
        }
        #expect(Self.take(1, ids[0], &bodies, at: 20) == (true, 0))
        // b and c stall; b is the older one.
        let fast = Self.add("fast", &bodies, closed, at: 20)
        #expect(Self.take(100, fast, &bodies, at: 20) == (true, 1))
        #expect(closed.all == ["b"])
        #expect(Self.take(10, ids[1], &bodies, at: 20) == (false, 0))
        // All others send more in these two seconds.
        for id in [ids[0], fast] { #expect(Self.take(20, id, &bodies, at: 30) == (true, 0)) }
        #expect(Self.take(20, ids[2], &bodies, at: 30) == (true, 0))
        let slow = Self.add("slow", &bodies, closed, at: 0)
        #expect(Self.take(64, slow, &bodies, at: 3) == (true, 0))
        #expect(Self.take(1, slow, &bodies, at: 31) == (false, 0))
        #expect(closed.all == ["b"])
    }

    // T20
    @Test("give way neither when they are complete nor in their first two seconds")
    func untouchable() {
        let closed = Closed()
        var bodies = HeldBodies()
        let complete = Self.add("complete", &bodies, closed)
        #expect(Self.take(128, complete, &bodies, at: 0) == (true, 0))
        #expect(bodies.complete(complete))
        let young = ["a", "b"].map { name in
            let id = Self.add(name, &bodies, closed, at: 9)
            #expect(Self.take(128, id, &bodies, at: 9) == (true, 0))
            return id
        }
        let next = Self.add("next", &bodies, closed, at: 10)
        #expect(Self.take(128, next, &bodies, at: 10) == (false, 0))
        #expect(closed.all == [])
        let later = Self.add("later", &bodies, closed, at: 11)
        #expect(Self.take(128, later, &bodies, at: 11) == (true, 1))
        #expect(closed.all == ["a"] && !bodies.complete(young[0]) && bodies.complete(young[1]))
    }

    // T20
    @Test("that are small close a large upload where all is full, and only then a small one that is slower")
    func small() {
        let closed = Closed()
        var bodies = HeldBodies()
        let large = Self.add("large", &bodies, closed)
        #expect(Self.take(128, large, &bodies, at: 0) == (true, 0))
        for number in 0..<6 {
            let id = Self.add("small \(number)", &bodies, closed, at: Int64(number))
            #expect(Self.take(64, id, &bodies, at: Int64(number)) == (true, 0))
        }
        #expect(bodies.total == 1_024 * Self.kilobyte)
        for (number, expected) in [["large"], ["large"], ["large", "small 0"]].enumerated() {
            let id = Self.add("next \(number)", &bodies, closed, at: 10)
            #expect(Self.take(64, id, &bodies, at: 10) == (true, closed.all == expected ? 0 : 1))
            #expect(closed.all == expected)
        }
    }

    // T20
    @Test("hold nothing once they are gone")
    func released() {
        var bodies = HeldBodies()
        let (large, small) = (Self.add("large", &bodies), Self.add("small", &bodies))
        #expect(Self.take(100, large, &bodies, at: 0) == (true, 0))
        #expect(Self.take(10, small, &bodies, at: 0) == (true, 0))
        #expect(bodies.total == 220 * Self.kilobyte)
        for id in [large, small, large] { bodies.remove(id) }
        #expect(bodies.total == 0 && bodies.large == 0)
        #expect(Self.take(1, large, &bodies, at: 0) == (false, 0))
    }
}
