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
/// another app. Deliveries have a share of their own. An exchange that is not expected to be answered before its
/// deadline fails at once with `noConnection`.
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
        /// That wait, without deliveries. Further ones fail at once. Those of one owner take two thirds at most, so
        /// that there is room for the others.
        package var waiting: Int
        /// With all targets of deliveries together, so that targets that hang leave the rest to the App Store.
        package var deliveries: Int { max(total / 4, 1) }

        package init(total: Int, perOrigin: Int, connectingPerOrigin: Int = 128, waiting: Int = .max) {
            (self.total, self.perOrigin, self.connectingPerOrigin) = (total, perOrigin, connectingPerOrigin)
            self.waiting = waiting
        }
    }

    /// A new exchange.
    package struct Arrival: Sendable {
        package let id: ID
        /// Host and port.
        package let origin: String
        /// On whose behalf, for example the bundle id of an app.
        package let owner: String
        /// See ``HTTPRequest/isDelivery``.
        package let isDelivery: Bool
        package let deadline: ContinuousClock.Instant

        package init(
            _ id: ID, origin: String, owner: String = "", isDelivery: Bool = false, deadline: ContinuousClock.Instant
        ) {
            (self.id, self.origin, self.owner, self.deadline) = (id, origin, owner, deadline)
            self.isDelivery = isDelivery
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

    /// An origin of one of the two shares.
    private struct Origin: Hashable {
        let name: String
        let isDelivery: Bool

        init(_ arrival: Arrival) { (name, isDelivery) = (arrival.origin, arrival.isDelivery) }
    }

    private struct Deadline: Comparable {
        let instant: ContinuousClock.Instant
        let id: ID

        static func < (a: Self, b: Self) -> Bool { a.instant < b.instant }
    }

    private let limits: Limits
    private var exchanges: [ID: Exchange] = [:]
    private var origins: [Origin: OriginQueue] = [:]
    /// The origins with waiting exchanges; the next turn is that of the first.
    private var turns: Deque<Origin> = []
    private var running = 0
    private var runningDeliveries = 0
    /// The waiting exchanges that are no deliveries.
    private var waiting = 0
    private var owners: Set<String> = []
    private var pendingFailures: [Action] = []
    /// Contains the deadlines of all exchanges, and of some that have ended.
    private var deadlines = Heap<Deadline>()
    private var stopsAt: ContinuousClock.Instant?

    package init(_ limits: Limits) { self.limits = limits }

    /// True after `stop`, once every exchange has ended.
    package var isDone: Bool { stopsAt != nil && isIdle }

    package var isIdle: Bool { exchanges.isEmpty && pendingFailures.isEmpty }

    package mutating func submitted(_ arrival: Arrival, now: ContinuousClock.Instant) {
        exchanges[arrival.id] = Exchange(arrival: arrival)
        deadlines.insert(Deadline(instant: arrival.deadline, id: arrival.id))
        let origin = Origin(arrival)
        if !arrival.isDelivery { owners.insert(arrival.owner) }
        // At most twice as many as there is room for.
        let own = origins[origin]?.waiting(of: arrival.owner) ?? 0
        let mayWait = arrival.isDelivery || own / 2 < limits.waiting - waiting
        guard mayWait, origins[origin, default: OriginQueue()].add(arrival, room(for: origin), at: now) else {
            exchanges[arrival.id] = nil
            pendingFailures.append(.fail(arrival.id, .noConnection))
            return
        }
        if origins[origin]?.waiting == 1 { turns.append(origin) }
        if !arrival.isDelivery { waiting += 1 }
    }

    /// The limits of one origin at present.
    ///
    /// Deliveries take their part of the limit of each host of the App Store, so that a host that hangs leaves the same
    /// part of the rest to the others; one target has at most three quarters of their share. If there are several
    /// owners, each leaves an eighth to the others, which would otherwise wait until exchanges that take long have
    /// ended.
    private func room(for origin: Origin) -> OriginQueue.Room {
        var exchanges = 0
        if origin.isDelivery, runningDeliveries < limits.deliveries {
            exchanges = min(limits.perOrigin, limits.deliveries - limits.deliveries / 4)
        } else if !origin.isDelivery {
            exchanges = max(limits.perOrigin * (limits.total - runningDeliveries) / limits.total, 1)
        }
        if running >= limits.total { exchanges = 0 }
        return OriginQueue.Room(
            exchanges: exchanges,
            ofOwner: owners.count > 1 && !origin.isDelivery ? exchanges - exchanges / 8 : exchanges,
            connecting: limits.connectingPerOrigin)
    }

    /// Records that the connection of a started exchange is ready.
    package mutating func connected(_ id: ID) {
        guard let exchange = exchanges[id], case .connecting(let since) = exchange.phase else { return }
        exchanges[id]?.phase = .connected(since: since)
        origins[Origin(exchange.arrival)]?.connecting -= 1
    }

    /// Fails the exchange because its task was canceled. Has no effect if the exchange has ended.
    package mutating func cancelled(_ id: ID, now: ContinuousClock.Instant) { fail(id, .cancelled, now) }

    /// Sets the time at which all remaining exchanges fail with `shutDown`. If called several times, the earliest
    /// counts.
    package mutating func stop(at instant: ContinuousClock.Instant) { stopsAt = min(stopsAt ?? instant, instant) }

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
        while running < limits.total, passes < turns.count, let origin = turns.popFirst() {
            let room = room(for: origin)
            guard let id = origins[origin]?.startNext(room, at: now) else {
                if origins[origin]?.waiting ?? 0 > 0 {
                    turns.append(origin)
                    passes += 1
                } else {
                    removeIfIdle(origin)
                }
                continue
            }
            passes = 0
            if origins[origin]?.waiting ?? 0 > 0 { turns.append(origin) }
            exchanges[id]?.phase = .connecting(since: now)
            running += 1
            if origin.isDelivery { runningDeliveries += 1 } else { waiting -= 1 }
            actions.append(.start(id))
        }
    }

    private mutating func fail(_ id: ID, _ code: TransportError.Code, _ now: ContinuousClock.Instant) {
        guard exchanges[id] != nil else { return }
        finished(id, now: now)
        pendingFailures.append(.fail(id, code))
    }

    package mutating func finished(_ id: ID, now: ContinuousClock.Instant) {
        guard let exchange = exchanges.removeValue(forKey: id) else { return }
        let origin = Origin(exchange.arrival)
        switch exchange.phase {
        case .waiting:
            origins[origin]?.abandon(exchange.arrival)
            if origins[origin]?.waiting == 0 { turns.removeAll { $0 == origin } }
            if !origin.isDelivery { waiting -= 1 }
        case .connecting(let since), .connected(let since):
            if case .connecting = exchange.phase { origins[origin]?.connecting -= 1 }
            origins[origin]?.ended(exchange.arrival, after: since.duration(to: now))
            running -= 1
            if origin.isDelivery { runningDeliveries -= 1 }
        }
        removeIfIdle(origin)
        if exchanges.isEmpty { deadlines = Heap() }
    }

    private mutating func removeIfIdle(_ origin: Origin) {
        if let queue = origins[origin], queue.running == 0, queue.waiting == 0 { origins[origin] = nil }
    }
}
