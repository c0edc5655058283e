import StoreTypes
import Synchronization

/// The content of Get Notification History: the notifications of the time before the world was generated, then those
/// about events since.
final class NotificationArchive: Sendable {
    private let world: World
    private let log: NotificationLog
    private let past = Mutex<[AppStoreEnvironment: [NotificationLog.Entry]]>([:])

    init(_ world: World, _ log: NotificationLog) {
        self.world = world
        self.log = log
    }

    /// Returns the entries, oldest first. New entries are appended, so the index of an entry never changes.
    func entries(in environment: AppStoreEnvironment) -> [NotificationLog.Entry] {
        past(environment) + log.all.filter { $0.isListed && $0.notification.environment == environment }
    }

    /// Returns the entries of the time before the world was generated, all delivered at the first attempt.
    private func past(_ environment: AppStoreEnvironment) -> [NotificationLog.Entry] {
        if let known = past.withLock({ $0[environment] }) { return known }
        let entries = world.customers.filter { $0.environment == environment }.flatMap(SimulatedNotification.all)
            .sorted { ($0.date, $0.transaction?.transactionId ?? "") < ($1.date, $1.transaction?.transactionId ?? "") }
            .map {
                NotificationLog.Entry(
                    notification: $0, isListed: true, attempts: [SendAttempt(date: $0.date, result: .success)])
            }
        past.withLock { $0[environment] = entries }
        return entries
    }
}
