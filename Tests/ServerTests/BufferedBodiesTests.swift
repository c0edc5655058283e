import ReceiptBridgeServer
import ReceiptBridgeTestSupport
import Testing

private let kilobyte = 1_024
/// 1,024 KB of memory, 768 KB of it for large bodies: three of 128 KB, each counted twice.
private let limits = RequestBodyBudget.Limits(total: 1_024 * kilobyte, reserve: 256 * kilobyte)

@Suite("Buffered request bodies")
struct BufferedBodiesTests {
    /// Adds bodies by name and records which of them were closed.
    private final class Room {
        private var bodies = BufferedBodies()
        private let closedBodies = Recorded<String>()

        var kilobytes: Int { bodies.total / kilobyte }
        var largeKilobytes: Int { bodies.large / kilobyte }
        var closed: [String] { closedBodies.all }

        func add(_ name: String, at seconds: Int64 = 0) -> BufferedBodies.ID {
            bodies.add(BufferedBody(startedAt: .seconds(seconds)) { [closedBodies] in closedBodies.add(name) })
        }

        /// Returns whether the bytes were accepted.
        func take(_ count: Int, _ id: BufferedBodies.ID, at seconds: Int64) -> Bool {
            let (isReserved, closed) = bodies.reserve(count * kilobyte, for: id, within: limits, at: .seconds(seconds))
            for body in closed { body.close() }
            return isReserved
        }

        func complete(_ id: BufferedBodies.ID) -> Bool { bodies.complete(id) }
        func remove(_ id: BufferedBodies.ID) { bodies.remove(id) }
    }

    // T20
    @Test("Responses and bodies of requests share the memory, and each kind of them has a part that others cannot use")
    func responses() {
        let limits = RequestBodyBudget.Limits(
            total: 1_024 * kilobyte, reserve: 256 * kilobyte, withResponses: 1_536 * kilobyte)
        var bodies = BufferedBodies()
        func response(_ count: Int, of size: Int) -> Bool {
            bodies.reserveResponse(count * kilobyte, of: size * kilobyte, within: limits)
        }
        func body(_ count: Int) -> Bool {
            let id = bodies.add(BufferedBody(startedAt: .zero) {})
            return bodies.reserve(count * kilobyte, for: id, within: limits, at: .zero).isReserved
        }
        // Without requests, responses have all but what is reserved for small bodies of requests.
        #expect(response(1_280, of: 1_280) && !response(1, of: 1))
        #expect(body(64) && body(64) && !body(1))
        bodies.releaseResponse(1_280 * kilobyte)
        // With all memory of requests in use, large responses have half of the rest, and small ones the other half.
        for _ in 0..<3 { #expect(body(128)) }
        #expect(bodies.total == 1_024 * kilobyte)
        #expect(response(256, of: 256) && !response(1, of: 65))
        #expect(response(64, of: 64) && response(192, of: 64) && !response(1, of: 1))
        #expect(bodies.responses == 512 * kilobyte)
    }

    // T20
    @Test("Large bodies leave the reserve to small bodies")
    func reserve() {
        let room = Room()
        for name in ["a", "b", "c"] {
            let id = room.add(name)
            #expect(room.take(128, id, at: 0))
        }
        let fourth = room.add("d")
        // 64 KB is small; one byte more is not.
        #expect(room.take(64, fourth, at: 1))
        #expect(!room.take(1, fourth, at: 1))
        #expect(room.kilobytes == 768 && room.largeKilobytes == 768)
        for _ in 0..<2 {
            let small = room.add("small", at: 1)
            #expect(room.take(64, small, at: 1))
        }
        #expect(room.kilobytes == 1_024)
    }

    // T20
    @Test("The slowest uploads are closed first, the oldest of them first; a body slower than all others is rejected")
    func slowest() {
        let room = Room()
        let ids = ["a", "b", "c"].enumerated().map { index, name in
            let id = room.add(name, at: Int64(index))
            #expect(room.take(100, id, at: Int64(index)))
            return id
        }
        #expect(room.take(1, ids[0], at: 20))
        // b and c stall; b is the older one.
        let fast = room.add("fast", at: 20)
        #expect(room.take(100, fast, at: 20))
        #expect(room.closed == ["b"])
        #expect(!room.take(10, ids[1], at: 20))
        // All others send more in these two seconds.
        for id in [ids[0], fast] { #expect(room.take(20, id, at: 30)) }
        #expect(room.take(20, ids[2], at: 30))
        let slow = room.add("slow", at: 0)
        #expect(room.take(64, slow, at: 3))
        #expect(!room.take(1, slow, at: 31))
        #expect(room.closed == ["b"])
    }

    // T20
    @Test("Complete bodies and uploads in their first two seconds are not closed")
    func untouchable() {
        let room = Room()
        let complete = room.add("complete")
        #expect(room.take(128, complete, at: 0))
        #expect(room.complete(complete))
        let young = ["a", "b"].map { name in
            let id = room.add(name, at: 9)
            #expect(room.take(128, id, at: 9))
            return id
        }
        let next = room.add("next", at: 10)
        #expect(!room.take(128, next, at: 10))
        #expect(room.closed == [])
        let later = room.add("later", at: 11)
        #expect(room.take(128, later, at: 11))
        #expect(room.closed == ["a"] && !room.complete(young[0]) && room.complete(young[1]))
    }

    // T20
    @Test("If memory is full, a small body closes a large upload first, then a slower small upload")
    func small() {
        let room = Room()
        let large = room.add("large")
        #expect(room.take(128, large, at: 0))
        for index in 0..<6 {
            let id = room.add("small \(index)", at: Int64(index))
            #expect(room.take(64, id, at: Int64(index)))
        }
        #expect(room.kilobytes == 1_024)
        for (index, expected) in [["large"], ["large"], ["large", "small 0"]].enumerated() {
            let id = room.add("next \(index)", at: 10)
            #expect(room.take(64, id, at: 10))
            #expect(room.closed == expected)
        }
    }

    // T20
    @Test("Removed bodies use no memory")
    func released() {
        let room = Room()
        let (large, small) = (room.add("large"), room.add("small"))
        #expect(room.take(100, large, at: 0))
        #expect(room.take(10, small, at: 0))
        #expect(room.kilobytes == 220)
        for id in [large, small, large] { room.remove(id) }
        #expect(room.kilobytes == 0 && room.largeKilobytes == 0)
        #expect(!room.take(1, large, at: 0))
    }
}
