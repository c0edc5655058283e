/// Decides which HTTP exchange starts, waits or ends: the transport's scheduling without its I/O.
///
/// Events are passed in (`submitted`, `cancelled`, `finished`, `stop`), and `actions(now:)` returns what to do next.
/// Each exchange is started at most once and ends exactly once, either by `finished` or by one `.fail` action.
package struct ExchangeSchedule: Sendable {
    /// Identifies an exchange; never reused.
    package typealias ID = UInt64

    /// An action for the event loop to perform.
    package enum Action: Sendable, Hashable {
        /// Pass the exchange to libcurl.
        case start(ID)
        /// Remove the exchange from libcurl if it was started, and fail it with this code.
        case fail(ID, TransportError.Code)
    }

    private struct Exchange {
        let origin: String
        let deadline: ContinuousClock.Instant
        var isRunning = false
    }

    /// The queue and the number of running exchanges of one origin.
    private struct Origin {
        var running = 0
        /// Exchange ids in order of arrival. May contain exchanges that have ended in the meantime.
        var waiting: [ID] = []
        var next = 0

        var hasWaiting: Bool { next < waiting.count }

        mutating func popFirst() -> ID {
            defer { next += 1 }
            return waiting[next]
        }

        /// Removes the ids before `next` and those that have ended.
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
    /// A lower bound of the earliest deadline. It is too early if the exchange with that deadline has ended.
    private var nextDeadline: ContinuousClock.Instant?
    private var stopsAt: ContinuousClock.Instant?

    /// Creates a schedule with the maximum number of concurrent exchanges in total and per origin.
    package init(maximumRunning: Int, maximumPerOrigin: Int) {
        self.maximumRunning = maximumRunning
        self.maximumPerOrigin = maximumPerOrigin
    }

    /// True after `stop`, once every exchange has ended.
    package var isDone: Bool { stopsAt != nil && exchanges.isEmpty && pendingFailures.isEmpty }

    /// Adds a new exchange at the end of its origin's queue.
    package mutating func submitted(_ id: ID, origin: String, deadline: ContinuousClock.Instant) {
        exchanges[id] = Exchange(origin: origin, deadline: deadline)
        origins[origin, default: Origin()].waiting.append(id)
        nextDeadline = min(nextDeadline ?? deadline, deadline)
    }

    /// Fails the exchange because its task was canceled. Has no effect if the exchange has ended.
    package mutating func cancelled(_ id: ID) {
        fail(id, .cancelled)
    }

    /// Removes an exchange that libcurl has finished.
    package mutating func finished(_ id: ID) {
        remove(id)
    }

    /// Sets the time at which all remaining exchanges fail with `shutDown`. If called several times, the earliest
    /// counts.
    package mutating func stop(at instant: ContinuousClock.Instant) {
        stopsAt = min(stopsAt ?? instant, instant)
    }

    /// Returns the actions that are due. Failures come first because they free capacity.
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

    /// The time until the next deadline if no event occurs, or `nil` if there is no deadline.
    package func pause(from now: ContinuousClock.Instant) -> Duration? {
        let instants = [nextDeadline, exchanges.isEmpty ? nil : stopsAt].compactMap { $0 }
        return instants.min().map { max(now.duration(to: $0), .zero) }
    }

    /// Starts waiting exchanges of an origin while the limits allow it.
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
        // Removes ended exchanges now and then, so that the queue stays in proportion to the live ones.
        if !origin.hasWaiting || origin.waiting.count > 64 + 2 * exchanges.count {
            origin.compact { exchanges[$0] != nil }
        }
        origins[name] = origin.running == 0 && !origin.hasWaiting ? nil : origin
    }

    /// Fails every exchange whose deadline has passed.
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
