import ReceiptBridgeBase
import ReceiptBridgeStorage

/// Whether leases of other workers that have ended may be taken over.
///
/// After an outage of the store, or if this process was suspended, leases have ended although their workers run, and
/// will renew them. So nothing is taken over before the store has responded regularly for some time. That is judged by
/// the store's clock, so a jump of that clock is such an outage, too.
struct LeaseTakeover: Sendable {
    /// The longest usual time between two responses of the store, and how long they must have been regular. Workers
    /// renew their leases more often.
    private static let steadiness = DeliveryLease.length / 2

    /// The last response: its time by the store's clock, and when it was received.
    private var last: (time: Timestamp, instant: ContinuousClock.Instant)?
    private var steadySince = Timestamp(milliseconds: 0)

    mutating func recordResponse(at time: Timestamp, received instant: ContinuousClock.Instant) {
        let isRegular = last.map { (.zero...Self.steadiness).contains($0.time.duration(to: time)) } ?? false
        if !isRegular { steadySince = time }
        last = (time, instant)
    }

    /// A lease must have ended by this time of the store's clock to be taken over; long ago if none may be. After an
    /// outage it is the time of the last response: what has ended since then is to be renewed first.
    func limit(at now: ContinuousClock.Instant) -> Timestamp {
        guard let last, steadySince.duration(to: last.time) >= Self.steadiness else {
            return Timestamp(milliseconds: 0)
        }
        let elapsed = now - last.instant
        return elapsed <= Self.steadiness ? last.time.advanced(by: elapsed) : last.time
    }
}
