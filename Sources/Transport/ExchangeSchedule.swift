/// Which exchange runs, waits or ends: the transport's decisions without its I/O.
///
/// Events go in (`submitted`, `cancelled`, `finished`, `stop`); `actions(now:)` says what to do about them. Each
/// exchange is started at most once and ended exactly once: by `finished` or by one `.fail`.
package struct ExchangeSchedule: Sendable {
    /// Names an exchange; never used twice.
    package typealias ID = UInt64

    /// What the driver has to do.
    package enum Action: Sendable, Hashable {
        /// Hand it to libcurl.
        case start(ID)
        /// Take it back from libcurl if it was started, and answer with this code.
        case fail(ID, TransportError.Code)
    }

    private struct Exchange {
        let origin: String
        let deadline: ContinuousClock.Instant
        var isRunning = false
    }

    private struct Origin {
        var running = 0
        /// In order of arrival; may name exchanges that have ended meanwhile.
        var waiting: [ID] = []
        var next = 0

        var hasWaiting: Bool { next < waiting.count }

        mutating func popFirst() -> ID {
            defer { next += 1 }
            return waiting[next]
        }

        mutating func compact(keeping isAlive: (ID) -> Bool) {
            waiting = waiting[next...].filter(isAlive)
            next = 0
        }
    }

    private let maximumRunning: Int
    private let maximumPerOrigin: Int
    private var exchanges: [ID: Exchange] = [:]
    private var origins: [String: Origin] = [:]
    private var running = 0
    private var pendingFailures: [Action] = []
    /// Not after the earliest deadline; may be before it, when the exchange that had it is gone.
    private var nextDeadline: ContinuousClock.Instant?
    private var stopsAt: ContinuousClock.Instant?

    /// At most so many exchanges at a time, in all and with one origin.
    package init(maximumRunning: Int, maximumPerOrigin: Int) {
        self.maximumRunning = maximumRunning
        self.maximumPerOrigin = maximumPerOrigin
    }

    /// True after `stop`, when every exchange has ended.
    package var isDone: Bool { stopsAt != nil && exchanges.isEmpty && pendingFailures.isEmpty }

    /// A new exchange, which waits in its origin's line.
    package mutating func submitted(_ id: ID, origin: String, deadline: ContinuousClock.Instant) {
        exchanges[id] = Exchange(origin: origin, deadline: deadline)
        origins[origin, default: Origin()].waiting.append(id)
        nextDeadline = min(nextDeadline ?? deadline, deadline)
    }

    /// Nobody waits for it any more; an exchange that has ended is none of its business.
    package mutating func cancelled(_ id: ID) {
        fail(id, .cancelled)
    }

    /// libcurl has ended it.
    package mutating func finished(_ id: ID) {
        remove(id)
    }

    /// What still lives at that instant fails with `shutDown`; the earliest of several calls counts.
    package mutating func stop(at instant: ContinuousClock.Instant) {
        stopsAt = min(stopsAt ?? instant, instant)
    }

    /// What to do now, failures first, since they make room.
    package mutating func actions(now: ContinuousClock.Instant) -> [Action] {
        if let stopsAt, stopsAt <= now {
            for id in exchanges.keys.sorted() { fail(id, .shutDown) }
        }
        if let nextDeadline, nextDeadline <= now { expire(now) }
        var actions = pendingFailures
        pendingFailures = []
        for origin in origins.keys { startWaiting(of: origin, into: &actions) }
        return actions
    }

    /// How long nothing has to be done unless something happens; nil for no limit.
    package func pause(from now: ContinuousClock.Instant) -> Duration? {
        let instants = [nextDeadline, exchanges.isEmpty ? nil : stopsAt].compactMap { $0 }
        return instants.min().map { max(now.duration(to: $0), .zero) }
    }

    private mutating func startWaiting(of name: String, into actions: inout [Action]) {
        guard var origin = origins[name], origin.hasWaiting || origin.running == 0 else { return }
        while origin.hasWaiting, origin.running < maximumPerOrigin, running < maximumRunning {
            let id = origin.popFirst()
            guard exchanges[id] != nil else { continue }
            exchanges[id]?.isRunning = true
            origin.running += 1
            running += 1
            actions.append(.start(id))
        }
        // Forgetting what has ended, now and then, keeps the line as short as what lives.
        if !origin.hasWaiting || origin.waiting.count > 64 + 2 * exchanges.count {
            origin.compact { exchanges[$0] != nil }
        }
        origins[name] = origin.running == 0 && !origin.hasWaiting ? nil : origin
    }

    private mutating func expire(_ now: ContinuousClock.Instant) {
        for (id, exchange) in exchanges where exchange.deadline <= now { fail(id, .timedOut) }
        nextDeadline = exchanges.values.map(\.deadline).min()
    }

    private mutating func fail(_ id: ID, _ code: TransportError.Code) {
        guard exchanges[id] != nil else { return }
        remove(id)
        pendingFailures.append(.fail(id, code))
    }

    private mutating func remove(_ id: ID) {
        guard let exchange = exchanges.removeValue(forKey: id) else { return }
        if exchange.isRunning {
            running -= 1
            origins[exchange.origin]?.running -= 1
        }
        if exchanges.isEmpty { nextDeadline = nil }
    }
}
