/// A request's body in memory, or the part of it that has arrived.
package struct BufferedBody: Sendable {
    let begun: Duration
    package let close: @Sendable () -> Void
    var isUpload = true
    private(set) var received = 0
    /// Bytes that arrived in the second of the last arrival, and in the one before it.
    private var recent = (second: Int64(0), now: 0, before: 0)

    package init(begun: Duration, close: @escaping @Sendable () -> Void) {
        (self.begun, self.close) = (begun, close)
    }

    var isSmall: Bool { received <= RequestBodyBudget.smallBodyBytes }
    var memory: Int { received * RequestBodyBudget.copies }

    mutating func receive(_ count: Int, at time: Duration) {
        let second = time.components.seconds
        if second != recent.second {
            recent = (second, 0, second == recent.second + 1 ? recent.now : 0)
        }
        recent.now += count
        received += count
    }

    /// Bytes of this second and of the one before it.
    func progress(at time: Duration) -> Int {
        switch time.components.seconds - recent.second {
        case 0: recent.now + recent.before
        case 1: recent.now
        default: 0
        }
    }
}

/// All request bodies in memory, and the decision which upload is closed to make room. A value; the time is a parameter.
package struct BufferedBodies: Sendable {
    package typealias ID = UInt64

    /// An upload that began later gives way to none: its progress is not known yet.
    package static let leastAge = Duration.seconds(2)

    /// Bytes of memory.
    package private(set) var total = 0
    /// Of these, what bodies hold that are not small.
    package private(set) var large = 0
    private var bodies: [ID: BufferedBody] = [:]
    private var lastID: ID = 0

    package init() {}

    package mutating func add(_ body: BufferedBody) -> ID {
        lastID += 1
        bodies[lastID] = body
        return lastID
    }

    /// False if it holds nothing any more.
    package mutating func complete(_ id: ID) -> Bool {
        bodies[id]?.isUpload = false
        return bodies[id] != nil
    }

    @discardableResult
    package mutating func remove(_ id: ID) -> BufferedBody? {
        guard let body = bodies.removeValue(forKey: id) else { return nil }
        count(body, -1)
        return body
    }

    /// Counts the bytes if there is room for them, or if slower uploads make room; otherwise the body holds nothing any more.
    ///
    /// - Returns: the uploads that gave way, which hold nothing any more.
    package mutating func reserve(
        _ bytes: Int, for id: ID, within limits: RequestBodyBudget.Limits, at time: Duration
    ) -> (isTaken: Bool, closed: [BufferedBody]) {
        guard var body = remove(id) else { return (false, []) }
        body.receive(bytes, at: time)
        var closed: [BufferedBody] = []
        while !hasRoom(for: body, within: limits) {
            guard let slowest = slowest(for: body, at: time), let upload = remove(slowest) else {
                return (false, closed)
            }
            closed.append(upload)
        }
        bodies[id] = body
        count(body, 1)
        return (true, closed)
    }

    private mutating func count(_ body: BufferedBody, _ sign: Int) {
        total += sign * body.memory
        if !body.isSmall { large += sign * body.memory }
    }

    private func hasRoom(for body: BufferedBody, within limits: RequestBodyBudget.Limits) -> Bool {
        total + body.memory <= limits.total
            && (body.isSmall || large + body.memory <= limits.total - limits.reserve)
    }

    /// The upload that gives way to the body: for a small body any large one before a small one; otherwise one that makes
    /// less than a quarter of the body's progress, the oldest of several. Only a large one makes room for a large body.
    private func slowest(for body: BufferedBody, at time: Duration) -> ID? {
        func slowest(_ mayGiveWay: @escaping (BufferedBody) -> Bool) -> ID? {
            bodies.lazy.filter { $0.value.isUpload && time - $0.value.begun >= Self.leastAge && mayGiveWay($0.value) }
                .min {
                    ($0.value.progress(at: time), $0.key) < ($1.value.progress(at: time), $1.key)
                }?.key
        }
        let isSlower = { (other: BufferedBody) in 4 * other.progress(at: time) < body.progress(at: time) }
        guard body.isSmall else { return slowest { !$0.isSmall && isSlower($0) } }
        return slowest { !$0.isSmall } ?? slowest(isSlower)
    }
}
