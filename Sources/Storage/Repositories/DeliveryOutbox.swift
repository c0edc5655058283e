package import ReceiptBridgeBase

/// The outbox of forwarded notifications: one delivery for each notification and target. A delivery is queued in the
/// transaction that stores its notification, see ``NotificationStore``.
///
/// All times are those of the store's clock, so that the clocks of several servers do not matter. A server passes its
/// own time as `now`, which only a store of one machine uses.
package protocol DeliveryOutbox: SQLEngine {
    /// Leases due deliveries of different purchases, the one that has waited longest first. No delivery is leased to
    /// two workers, and no two deliveries about one purchase to the same target are leased at the same time. Leases
    /// that ended until `end`, a time of an earlier claim or renewal, are taken over.
    func claim(
        to targetKey: ForwardingTargetKey, for lease: DeliveryLease, at now: Timestamp, takingOverUntil end: Timestamp,
        limit: Int
    ) async throws(StorageError) -> DeliveryClaim
}
