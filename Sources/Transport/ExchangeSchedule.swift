import DequeModule
import HeapModule

/// Decides which HTTP exchange starts, waits or ends: the transport's scheduling without its I/O.
///
/// Events are passed in (`submitted`, `connected`, `cancelled`, `finished`, `stop`), and `actions(now:)` returns what
/// to do next. Each exchange is started at most once and ends exactly once, either by `finished` or by one `.fail`
/// action.
///
/// An exchange starts at once if the limits allow it. Otherwise it waits. When one ends, the origins take turns, and
/// within an origin the owners do. For example, a request of an app with ten clients does not wait behind the 5,000 of
/// another app. An exchange that is not expected to be answered before its deadline fails at once with `noConnection`.
package struct ExchangeSchedule: Sendable {
    /// Identifies an exchange; never reused.
    package typealias ID = UInt64

    /// The limits of exchanges at the same time.
    package struct Limits: Sendable, Hashable {
        /// With all origins together.
        package var total: Int
        /// With one origin.
        package var perOrigin: Int
        /// With one origin and without a connection yet, so that a cold start does not begin with thousands of TLS
        /// handshakes at once.
        package var connectingPerOrigin: Int

        package init(total: Int, perOrigin: Int, connectingPerOrigin: Int = 128) {
            (self.total, self.perOrigin, self.connectingPerOrigin) = (total, perOrigin, connectingPerOrigin)
        }
    }

    /// A new exchange.
    package struct Arrival: Sendable {
        package let id: ID
        /// Host and port.
        package let origin: String
        /// On whose behalf, for example the bundle id of an app.
        package let owner: String
        package let deadline: ContinuousClock.Instant

        package init(_ id: ID, origin: String, owner: String = "", deadline: ContinuousClock.Instant) {
            (self.id, self.origin, self.owner, self.deadline) = (id, origin, owner, deadline)
        }
    }

    /// An action for the event loop to perform.
    package enum Action: Sendable, Hashable {
        /// Pass the exchange to libcurl.
        case start(ID)
        /// Remove the exchange from libcurl if it was started, and fail it with this code.
        case fail(ID, TransportError.Code)
    }

    private enum Phase {
        case waiting
        /// Started, and the connection is not ready.
        case connecting(since: ContinuousClock.Instant)
        /// Started, and the request is being sent.
        case connected(since: ContinuousClock.Instant)
    }

    private struct Exchange {
        let arrival: Arrival
        var phase = Phase.waiting
    }

    private struct Deadline: Comparable {
        let instant: ContinuousClock.Instant
        let id: ID

        static func < (a: Self, b: Self) -> Bool { a.instant < b.instant }
    }

    private let limits: Limits
    private var exchanges: [ID: Exchange] = [:]
    private var origins: [String: OriginQueue] = [:]
    /// The origins with waiting exchanges; the next turn is that of the first.
    private var turns: Deque<String> = []
    private var running = 0
    private var pendingFailures: [Action] = []
    /// Contains the deadlines of all exchanges, and of some that have ended.
    private var deadlines = Heap<Deadline>()
    private var stopsAt: ContinuousClock.Instant?

    /// Creates a schedule.
    package init(_ limits: Limits) {
        self.limits = limits
    }

    /// True after `stop`, once every exchange has ended.
    package var isDone: Bool { stopsAt != nil && isIdle }

    /// True if there is no exchange.
    package var isIdle: Bool { exchanges.isEmpty && pendingFailures.isEmpty }

    /// Adds a new exchange.
    package mutating func submitted(_ arrival: Arrival, now: ContinuousClock.Instant) {
        exchanges[arrival.id] = Exchange(arrival: arrival)
        deadlines.insert(Deadline(instant: arrival.deadline, id: arrival.id))
        let isAnswered = origins[arrival.origin, default: OriginQueue()].add(
            arrival, limits, isFull: running >= limits.total, at: now)
        if !isAnswered {
            exchanges[arrival.id] = nil
            pendingFailures.append(.fail(arrival.id, .noConnection))
        } else if origins[arrival.origin]?.waiting == 1 {
            turns.append(arrival.origin)
        }
    }

    /// Records that the connection of a started exchange is ready.
    package mutating func connected(_ id: ID) {
        guard let exchange = exchanges[id], case .connecting(let since) = exchange.phase else { return }
        exchanges[id]?.phase = .connected(since: since)
        origins[exchange.arrival.origin]?.connecting -= 1
    }

    /// Fails the exchange because its task was canceled. Has no effect if the exchange has ended.
    package mutating func cancelled(_ id: ID, now: ContinuousClock.Instant) {
        fail(id, .cancelled, now)
    }

    /// Sets the time at which all remaining exchanges fail with `shutDown`. If called several times, the earliest
    /// counts.
    package mutating func stop(at instant: ContinuousClock.Instant) {
        stopsAt = min(stopsAt ?? instant, instant)
    }

    /// Returns the actions that are due. Failures come first because they free capacity.
    package mutating func actions(now: ContinuousClock.Instant) -> [Action] {
        if let stopsAt, stopsAt <= now {
            for id in exchanges.keys.sorted() { fail(id, .shutDown, now) }
        }
        while let deadline = deadlines.min, deadline.instant <= now {
            deadlines.removeMin()
            guard let exchange = exchanges[deadline.id] else { continue }
            // The host is not to blame for an exchange that was not sent.
            if case .waiting = exchange.phase {
                fail(deadline.id, .noConnection, now)
            } else {
                fail(deadline.id, .timedOut, now)
            }
        }
        var actions = pendingFailures
        pendingFailures = []
        startWaiting(into: &actions, now)
        return actions
    }

    /// The time until the next deadline if no event occurs, or `nil` if there is no deadline.
    package mutating func pause(from now: ContinuousClock.Instant) -> Duration? {
        while let deadline = deadlines.min, exchanges[deadline.id] == nil { deadlines.removeMin() }
        let instants = [deadlines.min?.instant, exchanges.isEmpty ? nil : stopsAt].compactMap { $0 }
        return instants.min().map { max(now.duration(to: $0), .zero) }
    }

    /// Starts waiting exchanges while the limits allow it, one of each origin in turn.
    private mutating func startWaiting(into actions: inout [Action], _ now: ContinuousClock.Instant) {
        // Origins that may not start an exchange now, or have none that waits.
        var passes = 0
        let limits = limits
        while running < limits.total, passes < turns.count, let name = turns.popFirst() {
            guard let id = origins[name]?.startNext(limits, at: now) else {
                if origins[name]?.waiting ?? 0 > 0 {
                    turns.append(name)
                    passes += 1
                } else {
                    removeIfIdle(name)
                }
                continue
            }
            passes = 0
            if origins[name]?.waiting ?? 0 > 0 { turns.append(name) }
            exchanges[id]?.phase = .connecting(since: now)
            running += 1
            actions.append(.start(id))
        }
    }

    private mutating func fail(_ id: ID, _ code: TransportError.Code, _ now: ContinuousClock.Instant) {
        guard exchanges[id] != nil else { return }
        finished(id, now: now)
        pendingFailures.append(.fail(id, code))
    }

    /// Removes an exchange that has ended.
    package mutating func finished(_ id: ID, now: ContinuousClock.Instant) {
        guard let exchange = exchanges.removeValue(forKey: id) else { return }
        let name = exchange.arrival.origin
        switch exchange.phase {
        case .waiting:
            origins[name]?.abandon(exchange.arrival)
            if origins[name]?.waiting == 0 { turns.removeAll { $0 == name } }
        case .connecting(let since):
            origins[name]?.connecting -= 1
            origins[name]?.ended(after: since.duration(to: now))
            running -= 1
        case .connected(let since):
            origins[name]?.ended(after: since.duration(to: now))
            running -= 1
        }
        removeIfIdle(name)
        if exchanges.isEmpty { deadlines = Heap() }
    }

    private mutating func removeIfIdle(_ name: String) {
        if let origin = origins[name], origin.running == 0, origin.waiting == 0 { origins[name] = nil }
    }
}

/// The exchanges with one origin: the number of those that run, and the lines of those that wait.
private struct OriginQueue {
    /// The waiting exchanges of one owner in order of arrival, and some that have ended.
    private struct Line {
        var ids: Deque<ExchangeSchedule.ID> = []
        /// The number of those that have not ended.
        var waiting = 0
    }

    private(set) var running = 0
    var connecting = 0
    private(set) var waiting = 0
    private var lines: [String: Line] = [:]
    /// The owners of the lines; the next turn is that of the first.
    private var turns: Deque<String> = []
    /// The exchanges in lines that have ended.
    private var ended: Set<ExchangeSchedule.ID> = []
    private var forecast = WaitForecast()

    /// Adds an exchange to the line of its owner. Returns false instead if it cannot be expected to be answered in
    /// time.
    ///
    /// - Parameter isFull: Whether exchanges with all origins have reached their limit.
    mutating func add(
        _ arrival: ExchangeSchedule.Arrival, _ limits: ExchangeSchedule.Limits, isFull: Bool,
        at now: ContinuousClock.Instant
    ) -> Bool {
        if waiting > 0 || isFull || !mayStart(limits) {
            forecast.queueFormed(at: now)
            // Each other owner starts at most as many as this one before the new exchange has its turn.
            let own = lines[arrival.owner]?.waiting ?? 0
            let owners = lines[arrival.owner] == nil ? lines.count + 1 : lines.count
            let ahead = min(waiting, (own + 1) * owners - 1)
            guard forecast.isAnswered(behind: ahead, within: now.duration(to: arrival.deadline), at: now) else {
                return false
            }
        }
        if lines[arrival.owner] == nil { turns.append(arrival.owner) }
        lines[arrival.owner, default: Line()].ids.append(arrival.id)
        lines[arrival.owner]?.waiting += 1
        waiting += 1
        return true
    }

    private func mayStart(_ limits: ExchangeSchedule.Limits) -> Bool {
        running < limits.perOrigin && connecting < limits.connectingPerOrigin
    }

    /// Removes the exchange that is next and counts it as running; `nil` if none waits or the limits allow no other.
    mutating func startNext(
        _ limits: ExchangeSchedule.Limits, at now: ContinuousClock.Instant
    ) -> ExchangeSchedule.ID? {
        guard waiting > 0, mayStart(limits), let owner = turns.popFirst(), var line = lines.removeValue(forKey: owner)
        else { return nil }
        while let id = line.ids.popFirst() {
            guard ended.isEmpty || ended.remove(id) == nil else { continue }
            line.waiting -= 1
            if line.waiting > 0 {
                lines[owner] = line
                turns.append(owner)
            } else {
                for id in line.ids { ended.remove(id) }
            }
            running += 1
            connecting += 1
            waiting -= 1
            forecast.started(at: now)
            if waiting == 0 { forecast.queueEmptied() }
            return id
        }
        return nil
    }

    /// Counts an exchange that ended while it waited.
    mutating func abandon(_ arrival: ExchangeSchedule.Arrival) {
        guard var line = lines.removeValue(forKey: arrival.owner) else { return }
        waiting -= 1
        line.waiting -= 1
        if waiting == 0 { forecast.queueEmptied() }
        ended.insert(arrival.id)
        // Removes those that have ended now and then, so that a line stays in proportion to the others.
        if line.waiting == 0 || line.ids.count > 64 + 2 * line.waiting {
            line.ids.removeAll { ended.remove($0) != nil }
        }
        if line.waiting == 0 { turns.removeAll { $0 == arrival.owner } } else { lines[arrival.owner] = line }
    }

    /// Records the duration of an exchange that has ended.
    mutating func ended(after duration: Duration) {
        running -= 1
        forecast.ended(after: duration)
    }
}
