import Base
import Storage

/// Whether leases of other workers that have ended may be taken over.
///
/// After an outage of the store, or if this process was suspended, leases have ended although their workers run, and
/// will renew them. So nothing is taken over before the store has responded regularly for some time. All times are
/// those of the store's clock, so a jump of that clock is such an outage, too.
struct LeaseTakeover: Sendable, Hashable {
    /// The longest usual time between two responses of the store, and how long they must have been regular. Workers
    /// renew their leases more often.
    private static let steadiness = DeliveryLease.length / 2

    private var lastResponse: Timestamp?
    private var steadySince = Timestamp(milliseconds: 0)

    /// Records that the store has responded.
    mutating func recordResponse(at time: Timestamp) {
        let isRegular = lastResponse.map { (.zero...Self.steadiness).contains($0.duration(to: time)) } ?? false
        if !isRegular { steadySince = time }
        lastResponse = time
    }

    /// The time until which a lease must have ended to be taken over; long ago if none may be. Not later than the last
    /// response, because what has ended since then may have ended during an outage.
    var limit: Timestamp {
        guard let lastResponse, steadySince.duration(to: lastResponse) >= Self.steadiness else {
            return Timestamp(milliseconds: 0)
        }
        return lastResponse
    }
}
