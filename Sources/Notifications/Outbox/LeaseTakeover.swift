import Base
import Storage

/// Whether leases of other workers that have ended may be taken over.
///
/// After an outage of the store, or if this process was suspended, leases have ended although their workers run, and
/// will renew them. So nothing is taken over before the store has responded regularly for some time. It has no clock.
struct LeaseTakeover: Sendable, Hashable {
    /// The longest usual time between two responses of the store, and how long they must have been regular. Workers
    /// renew their leases more often.
    private static let steadiness = DeliveryLease.length / 2

    private var lastResponse: Timestamp
    private var steadySince: Timestamp

    init(at now: Timestamp) {
        (lastResponse, steadySince) = (now, now)
    }

    /// Records that the store has responded.
    mutating func recordResponse(at now: Timestamp) {
        if !isRegular(at: now) { steadySince = now }
        lastResponse = now
    }

    /// Returns the time until which a lease must have ended to be taken over; long ago if none may be.
    func limit(at now: Timestamp) -> Timestamp {
        let isSteady = isRegular(at: now) && steadySince.duration(to: now) >= Self.steadiness
        return isSteady ? now : Timestamp(milliseconds: 0)
    }

    /// A clock that was set back is not regular either.
    private func isRegular(at now: Timestamp) -> Bool {
        (.zero...Self.steadiness).contains(lastResponse.duration(to: now))
    }
}
