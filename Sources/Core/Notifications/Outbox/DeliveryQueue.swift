package import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// Decides what the worker of one target does next: its claims, leases and limits without their I/O.
///
/// Events are passed in, and ``actions(after:at:)`` returns what to do next. Deliveries are claimed with leases, which
/// are renewed for all that are held, so that another worker takes them over soon after this one was killed. No post
/// begins after the end of its delivery's lease. After ``stop()`` none is sent any more, and those that wait are
/// released.
package struct DeliveryQueue: Sendable {
    package typealias Instant = ContinuousClock.Instant

    package enum Event: Sendable {
        case started
        /// Deliveries may be due.
        case arrived
        /// The leases that are held are to be renewed.
        case renewalDue
        /// The store has responded to a claim; `nil` if it failed.
        case claimed(DeliveryClaim?)
        /// The store has extended leases, up to these times by its clock; `nil` if it failed.
        case renewed([Int64: Timestamp]?)
        /// An attempt has ended. The target has accepted so many bodies of the delivery; 0 if there was none to send.
        case attempted(StoredDelivery, bodiesSent: Int, ForwardingFailure?)
        /// Deliveries were settled or released. Others about the same purchases may be due.
        case ended([Int64])
    }

    package enum Action: Sendable {
        case awaitArrival
        case awaitRenewal
        case claim(limit: Int, takingOverUntil: Timestamp)
        case renew(Set<Int64>)
        case send(StoredDelivery)
        case settle(StoredDelivery, DeliveryOutcome)
        case release([StoredDelivery])
    }

    package private(set) var concurrency: DeliveryConcurrency
    private let schedule: DeliverySchedule
    private var takeover = LeaseTakeover()
    /// Leased deliveries that wait to be sent, in the order in which they are sent.
    private var claimed: [StoredDelivery] = []
    /// Deliveries that are being sent, or whose end is being recorded.
    private var inFlight: Set<Int64> = []
    /// The ends of the leases of all these deliveries, which end later in the store, because its clock starts later. A
    /// delivery without one may belong to another worker.
    private var leases: [Int64: Instant] = [:]
    private var claim: (limit: Int, at: Instant)?
    private var renewal: (leases: [Int64: Instant], at: Instant)?
    private var mayFind = true
    private var isStopping = false

    package init(maximum: Int, schedule: DeliverySchedule) {
        concurrency = DeliveryConcurrency(maximum: maximum)
        self.schedule = schedule
    }

    /// True after ``stop()``, once nothing is in flight.
    package var isDone: Bool { isStopping && claim == nil && inFlight.isEmpty }

    package mutating func stop() { isStopping = true }

    package mutating func actions(after event: Event, at now: Instant) -> [Action] {
        let actions = handle(event, at: now)
        return actions + (isStopping ? releaseClaimed() : begin(at: now) + claimMore(at: now))
    }

    private mutating func handle(_ event: Event, at now: Instant) -> [Action] {
        switch event {
        case .started: return [.awaitArrival, .awaitRenewal]
        case .arrived:
            mayFind = true
            return isStopping ? [] : [.awaitArrival]
        case .renewalDue:
            guard !leases.isEmpty else { return [.awaitRenewal] }
            renewal = (leases, now)
            return [.renew(Set(leases.keys))]
        case .renewed(let ends):
            if let ends { recordRenewal(ends, at: now) }
            return [.awaitRenewal]
        case .claimed(let found):
            recordClaim(found, at: now)
            return []
        case .attempted(let delivery, let bodiesSent, let failure):
            return [end(of: delivery, bodiesSent, failure)]
        case .ended(let ids):
            inFlight.subtract(ids)
            for id in ids { leases[id] = nil }
            mayFind = true
            return []
        }
    }

    // MARK: - Leases

    private mutating func recordClaim(_ found: DeliveryClaim?, at now: Instant) {
        guard let (limit, begin) = claim else { return }
        claim = nil
        guard let found else { return }
        takeover.recordResponse(at: found.time, received: now)
        // If all that may be sent were found, there is nothing to find before the next event.
        mayFind = mayFind || found.deliveries.count == limit
        for delivery in found.deliveries {
            // A delivery of this worker whose lease had ended, and that no other one has claimed, is not sent again.
            let isKnown = leases[delivery.id] != nil || inFlight.contains(delivery.id)
            leases[delivery.id] = begin + DeliveryLease.length
            if !isKnown { claimed.append(delivery) }
        }
    }

    /// Deliveries that another worker has claimed since are not begun.
    private mutating func recordRenewal(_ ends: [Int64: Timestamp], at now: Instant) {
        guard let (held, begin) = renewal else { return }
        if let end = ends.values.max() {
            takeover.recordResponse(at: end.advanced(by: .zero - DeliveryLease.length), received: now)
        }
        // A delivery that has ended meanwhile can even have been claimed again.
        for (id, end) in held where leases[id] == end {
            leases[id] = ends[id] == nil ? nil : begin + DeliveryLease.length
        }
        claimed.removeAll { leases[$0.id] == nil }
    }

    /// Half as many deliveries as can be in flight are claimed ahead, so that few claims are needed and no slot waits
    /// for them.
    private mutating func claimMore(at now: Instant) -> [Action] {
        let ahead = max(8, concurrency.limit / 2)
        let missing = max(concurrency.limit - inFlight.count, 0) + ahead - claimed.count
        guard mayFind, claim == nil, missing > ahead / 2 else { return [] }
        (claim, mayFind) = ((missing, now), false)
        return [.claim(limit: missing, takingOverUntil: takeover.limit(at: now))]
    }

    private mutating func releaseClaimed() -> [Action] {
        guard !claimed.isEmpty else { return [] }
        defer { claimed = [] }
        for delivery in claimed {
            leases[delivery.id] = nil
            inFlight.insert(delivery.id)
        }
        return [.release(claimed)]
    }

    // MARK: - Attempts

    /// Begins as many deliveries as the limit allows. Those whose lease has ended wait for its renewal.
    private mutating func begin(at now: Instant) -> [Action] {
        let free = max(concurrency.limit - inFlight.count, 0)
        let first = claimed.filter { holdsLease(of: $0.id, at: now) }.prefix(free)
        inFlight.formUnion(first.map(\.id))
        claimed.removeAll { inFlight.contains($0.id) }
        return first.map { .send($0) }
    }

    /// Returns how an attempt ends: with its outcome, which is a retry as long as the schedule has one.
    private func end(of delivery: StoredDelivery, _ sent: Int, _ failure: ForwardingFailure?) -> Action {
        guard let failure else { return .settle(delivery, sent == 0 ? .skipped : .delivered(bodies: sent)) }
        // Neither stopping the process nor the end of a lease is a failure: the delivery stays due.
        guard ![.stopped, .leaseEnded].contains(failure) else { return .release([delivery]) }
        let pause = schedule.pause(afterFailures: delivery.attempts + 1, age: delivery.age)
        return .settle(
            delivery,
            pause.map { .failed(code: failure.code, bodiesSent: sent, pause: $0) }
                ?? .abandoned(code: failure.code, bodiesSent: sent))
    }

    /// Returns what to pass to ``recordPost(status:after:begunAfter:)``; `nil` if the lease has ended, so that another
    /// worker may have claimed the delivery.
    package func beginPost(of id: Int64, at now: Instant) -> Int? {
        holdsLease(of: id, at: now) ? concurrency.reductions : nil
    }

    /// - Parameter status: 0 without a response.
    package mutating func recordPost(status: Int, after latency: Duration, begunAfter reductions: Int) {
        switch status {
        case 200...299: concurrency.recordSuccess(after: latency, inFlight: inFlight.count)
        case 0, 408, 429, 500...: concurrency.recordFailure(begunAfter: reductions)
        // The target refuses this notification, or is in another place, which does not depend on the load.
        default: break
        }
    }

    private func holdsLease(of id: Int64, at now: Instant) -> Bool { leases[id].map { $0 > now } ?? false }
}

extension ForwardingFailure {
    package static let stopped = ForwardingFailure("stopped")
    /// Another worker may have claimed the delivery.
    package static let leaseEnded = ForwardingFailure("leaseEnded")
}
