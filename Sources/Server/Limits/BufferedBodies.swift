/// The body of one request in memory: complete, or the part of it that has arrived so far.
package struct BufferedBody: Sendable {
    let startedAt: Duration
    package let close: @Sendable () -> Void
    var isUpload = true
    private(set) var received = 0
    /// Number of bytes that arrived in the second of the last arrival, and in the second before it.
    private var recent = (second: Int64(0), now: 0, before: 0)

    package init(startedAt: Duration, close: @escaping @Sendable () -> Void) {
        (self.startedAt, self.close) = (startedAt, close)
    }

    /// Small bodies may use the reserve of the budget.
    var isSmall: Bool { received <= RequestBodyBudget.smallBodyBytes }
    /// Bytes of memory that the body uses, including copies of it.
    var memory: Int { received * RequestBodyBudget.copies }

    mutating func receive(_ count: Int, at time: Duration) {
        let second = time.components.seconds
        if second != recent.second {
            recent = (second, 0, second == recent.second + 1 ? recent.now : 0)
        }
        recent.now += count
        received += count
    }

    /// Returns the number of bytes that arrived in the current second and in the previous one.
    func progress(at time: Duration) -> Int {
        switch time.components.seconds - recent.second {
        case 0: recent.now + recent.before
        case 1: recent.now
        default: 0
        }
    }
}

/// A record of all request bodies in memory. It decides which upload to close when memory is short. A value type;
/// callers pass the time.
package struct BufferedBodies: Sendable {
    /// Increases with every body, so the oldest upload has the lowest id.
    package typealias ID = UInt64

    /// Uploads that began less than this time ago are not closed, because their progress is not known yet.
    static let minimumAge = Duration.seconds(2)

    /// Bytes of memory that all bodies use.
    package private(set) var total = 0
    /// The part of `total` that belongs to bodies which are not small.
    package private(set) var large = 0
    package private(set) var responses = 0
    private var bodies: [ID: BufferedBody] = [:]
    private var lastID: ID = 0

    package init() {}

    package mutating func add(_ body: BufferedBody) -> ID {
        lastID += 1
        bodies[lastID] = body
        return lastID
    }

    /// The body is not closed any more. Returns `false` if its upload was closed before.
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

    /// Closes slower uploads if necessary. If there is no room, the body itself is removed. Returns whether the
    /// bytes were added, and the uploads that were removed; the caller has to close those.
    package mutating func reserve(
        _ bytes: Int, for id: ID, within limits: RequestBodyBudget.Limits, at time: Duration
    ) -> (isReserved: Bool, closed: [BufferedBody]) {
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

    /// Adds the body's memory to the totals, or subtracts it if `sign` is -1.
    private mutating func count(_ body: BufferedBody, _ sign: Int) {
        total += sign * body.memory
        if !body.isSmall { large += sign * body.memory }
    }

    /// Reserves bytes of a response that then has `size`. What is reserved for small bodies of requests is left to
    /// them, and as much to small responses.
    package mutating func reserveResponse(_ bytes: Int, of size: Int, within limits: RequestBodyBudget.Limits) -> Bool {
        let reserve = size > RequestBodyBudget.smallBodyBytes ? limits.reserve : 0
        guard responses + bytes <= limits.withResponses - limits.reserve,
            total + responses + bytes <= limits.withResponses - reserve
        else { return false }
        responses += bytes
        return true
    }

    package mutating func releaseResponse(_ bytes: Int) { responses -= bytes }

    /// Returns whether the body fits. Only small bodies may use the reserve.
    private func hasRoom(for body: BufferedBody, within limits: RequestBodyBudget.Limits) -> Bool {
        total + body.memory <= min(limits.total, limits.withResponses - responses)
            && (body.isSmall || large + body.memory <= limits.total - limits.reserve)
    }

    /// Returns the upload to close for the body: the one with the least progress, and of several the oldest. For a
    /// small body, large uploads are considered first; otherwise only uploads that made less than a quarter of the
    /// body's progress. A large body replaces only large uploads.
    ///
    /// For example, a body that received 40,000 bytes in the last two seconds replaces an upload that received 9,000.
    private func slowest(for body: BufferedBody, at time: Duration) -> ID? {
        func slowest(_ isCandidate: @escaping (BufferedBody) -> Bool) -> ID? {
            bodies.lazy.filter {
                $0.value.isUpload && time - $0.value.startedAt >= Self.minimumAge && isCandidate($0.value)
            }
            .min {
                ($0.value.progress(at: time), $0.key) < ($1.value.progress(at: time), $1.key)
            }?.key
        }
        let isSlower = { (other: BufferedBody) in 4 * other.progress(at: time) < body.progress(at: time) }
        guard body.isSmall else { return slowest { !$0.isSmall && isSlower($0) } }
        return slowest { !$0.isSmall } ?? slowest(isSlower)
    }
}
