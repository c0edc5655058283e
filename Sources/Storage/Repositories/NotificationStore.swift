package import Base

/// Received notifications.
package protocol NotificationStore: Sendable {
    /// Stores a notification, and its records if they are newer than the stored ones, in one transaction.
    /// Notifications are deduplicated by `notificationUUID`: a repeated one changes nothing.
    ///
    /// A record is replaced as a whole by one that was signed later. The replaced record, or one that arrives too
    /// late, is stored as history. A record with the same date changes nothing.
    ///
    /// - Parameter targetKeys: the targets to forward the notification to if it is new.
    func save(
        _ notification: NotificationRow, _ update: NotificationUpdate, of scope: AppScope,
        for targetKeys: [ForwardingTargetKey]
    ) async throws(StorageError) -> NotificationOutcome

    /// Stores an unsigned notification and marks the customers that need a new lookup.
    ///
    /// - Parameter hints: identifiers of those customers.
    func save(
        hint notification: NotificationRow, about hints: [TransactionIdentifier], of scope: AppScope
    ) async throws(StorageError) -> NotificationOutcome

    /// Returns a notification; `nil` if none with this UUID is stored.
    func notification(_ uuid: String) async throws(StorageError) -> StoredNotification?

    /// Returns notifications without their texts, in the order of arrival.
    ///
    /// - Parameter id: the last id of the previous page; 0 for the first page.
    func notifications(
        matching filter: NotificationFilter, after id: Int64, limit: Int
    ) async throws(StorageError) -> [NotificationSummary]

    /// Returns whether a notification with this UUID is stored.
    func holdsNotification(_ uuid: String) async throws(StorageError) -> Bool

    /// Returns version 2 notifications of one type about a purchase, the latest first, each with the time of receipt.
    ///
    /// - Parameter originalTransactionId: of the purchase.
    func notifications(
        _ type: String, about originalTransactionId: String, in scope: AppScope
    ) async throws(StorageError) -> [(text: String, receivedAt: Timestamp)]

    /// Returns earlier signed notifications about the same purchase, the most recently signed first.
    ///
    /// - Parameters:
    ///   - id: row id of the notification, as in ``StoredDelivery/notification``.
    ///   - type: only notifications of this type; `nil` for all.
    func previousNotifications(
        of id: Int64, type: String?, limit: Int
    ) async throws(StorageError) -> [PreviousNotification]
}

extension NotificationStore {
    /// Stores a notification that is not forwarded.
    package func save(
        _ notification: NotificationRow, _ update: NotificationUpdate, of scope: AppScope
    ) async throws(StorageError) -> NotificationOutcome {
        try await save(notification, update, of: scope, for: [])
    }
}
