package import Base

/// The outbox of forwarded notifications: one delivery for each notification and target. A delivery is queued in the
/// transaction that stores its notification, see ``NotificationStore``.
package protocol DeliveryOutbox: Sendable {
    /// Returns the targets, also former ones, to which a delivery is due that is not leased.
    func dueTargets(at now: Timestamp) async throws(StorageError) -> Set<ForwardingTargetKey>

    /// Leases due deliveries of different purchases, the one that has waited longest first. No delivery is leased to
    /// two workers, and no two deliveries about one purchase to the same target are leased at the same time.
    ///
    /// - Parameters:
    ///   - end: leases that ended until then are taken over; at most `now`.
    ///   - limit: maximum number of deliveries.
    func claim(
        to targetKey: ForwardingTargetKey, for lease: DeliveryLease, at now: Timestamp, takingOverUntil end: Timestamp,
        limit: Int
    ) async throws(StorageError) -> [StoredDelivery]

    /// Extends the leases of deliveries, also those that ended if no other worker has claimed the delivery since.
    ///
    /// - Parameters:
    ///   - ids: the deliveries that the lessee claimed.
    ///   - lease: the lessee, and the new end of its leases.
    /// - Returns: The deliveries whose lease was extended. The others may belong to another worker.
    func renew(_ ids: Set<Int64>, for lease: DeliveryLease) async throws(StorageError) -> Set<Int64>

    /// Records the outcome of an attempt and ends the lease. The outcome is ignored if the delivery was queued again
    /// during the attempt, or if the lease ran out and another worker has claimed the delivery. A success counts even
    /// if that worker's attempt has failed since.
    func settle(_ delivery: StoredDelivery, _ outcome: DeliveryOutcome) async throws(StorageError)

    /// Ends the leases of deliveries that were not attempted or whose attempt was interrupted. They stay due.
    func release(_ deliveries: [StoredDelivery]) async throws(StorageError)

    /// Returns deliveries in the order of arrival.
    ///
    /// - Parameters:
    ///   - state: only deliveries in this state; `nil` for all.
    ///   - after: the last id of the previous page; 0 for the first page.
    func deliveries(
        in state: DeliveryState?, after id: Int64, limit: Int
    ) async throws(StorageError) -> [DeliverySummary]

    /// Queues deliveries again, with no attempts counted, and returns them in their new state.
    ///
    /// - Parameter url: only deliveries to this target. A notification is also queued for this target if it was not
    ///   addressed to it before, provided that the target belongs to the same app and has been used before.
    func replay(
        _ replay: DeliveryReplay, to url: String?, at now: Timestamp
    ) async throws(StorageError) -> [DeliverySummary]

    /// Returns the backlog of each app that has one.
    func deliveryBacklog() async throws(StorageError) -> [DeliveryBacklog]
}

extension DeliveryOutbox {
    /// Returns the first deliveries in the order of arrival.
    ///
    /// - Parameter state: only deliveries in this state; `nil` for all.
    package func deliveries(in state: DeliveryState? = nil) async throws(StorageError) -> [DeliverySummary] {
        try await deliveries(in: state, after: 0, limit: 500)
    }
}
