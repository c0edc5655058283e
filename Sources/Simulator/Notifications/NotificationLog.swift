package import ReceiptBridgeBase
import Synchronization

/// A log of the notifications about events since the world was generated, with the attempts to send them.
///
/// Get Notification History lists those of the time before, too.
package final class NotificationLog: Sendable {
    package struct Entry: Sendable {
        package let notification: SimulatedNotification
        /// Whether Get Notification History lists the notification. Apple lists those for a version 2 target; test
        /// notifications are never listed here.
        package var isListed: Bool
        package var attempts: [SendAttempt]

        package var isDelivered: Bool { attempts.contains { $0.result == .success } }

        /// A notification whose first attempt succeeded at once.
        static func delivered(_ notification: SimulatedNotification) -> Entry {
            Entry(
                notification: notification, isListed: true,
                attempts: [SendAttempt(date: notification.date, result: .success)])
        }
    }

    private let world: World
    private let entries = Mutex<[Entry]>([])
    private let past = Mutex<[AppStoreEnvironment: [Entry]]>([:])

    init(_ world: World) { self.world = world }

    package var count: Int { entries.withLock { $0.count } }

    package var all: [Entry] { entries.withLock { $0 } }

    package subscript(index: Int) -> Entry? { entries.withLock { $0.indices.contains(index) ? $0[index] : nil } }

    func append(_ new: [Entry]) -> Range<Int> {
        entries.withLock {
            $0 += new
            return $0.count - new.count..<$0.count
        }
    }

    /// Adds an attempt. The dates of the attempts of one notification ascend even if the clock is fixed.
    func add(_ result: SendAttempt.Result, at now: Timestamp, to index: Int) {
        entries.withLock { entries in
            let last = entries[index].attempts.last?.date ?? entries[index].notification.date
            let date = max(now, last.advanced(by: .milliseconds(1)))
            entries[index].attempts.append(SendAttempt(date: date, result: result))
        }
    }

    /// Oldest first. New entries are appended, so the index of an entry never changes.
    func history(in environment: AppStoreEnvironment) -> [Entry] {
        past(environment) + all.filter { $0.isListed && $0.notification.environment == environment }
    }

    /// Returns the entries of the time before the world was generated, all delivered at the first attempt.
    private func past(_ environment: AppStoreEnvironment) -> [Entry] {
        if let cached = past.withLock({ $0[environment] }) { return cached }
        let entries = world.customers.filter { $0.environment == environment }.flatMap(SimulatedNotification.all)
            .sorted { ($0.date, $0.transaction?.transactionId ?? "") < ($1.date, $1.transaction?.transactionId ?? "") }
            .map(Entry.delivered)
        past.withLock { $0[environment] = entries }
        return entries
    }
}

/// An attempt to send a notification, with its result.
///
/// https://developer.apple.com/documentation/appstoreserverapi/sendattemptitem
package struct SendAttempt: Sendable, Hashable {
    /// Apple's values of `sendAttemptResult`, as far as they can occur without TLS.
    package enum Result: String, Sendable, Hashable {
        case success = "SUCCESS"
        case timedOut = "TIMED_OUT"
        /// The connection failed, for example because no server listens at the URL.
        case socketIssue = "SOCKET_ISSUE"
        case prematureClose = "PREMATURE_CLOSE"
        case invalidResponse = "INVALID_RESPONSE"
        case unsuccessfulStatus = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    }

    package let date: Timestamp
    package let result: Result

    /// An element of `sendAttempts`.
    var document: JSONValue { JSONValue(["attemptDate": date.milliseconds, "sendAttemptResult": result.rawValue]) }
}
