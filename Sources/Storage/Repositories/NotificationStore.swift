/// Received notifications.
package protocol NotificationStore: SQLEngine {
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
}

extension NotificationStore {
    /// Stores a notification that is not forwarded.
    package func save(
        _ notification: NotificationRow, _ update: NotificationUpdate, of scope: AppScope
    ) async throws(StorageError) -> NotificationOutcome {
        try await save(notification, update, of: scope, for: [])
    }
}
