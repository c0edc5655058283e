import StoreTypes
import Synchronization

/// A log of the notifications about events since the world was generated, with the attempts to send them.
package final class NotificationLog: Sendable {
    /// A notification and its attempts.
    package struct Entry: Sendable {
        package let notification: SimulatedNotification
        /// Whether Get Notification History lists the notification. Apple lists those for a version 2 address; test
        /// notifications are never listed here.
        package let isListed: Bool
        package var attempts: [SendAttempt]

        package var isDelivered: Bool { attempts.contains { $0.result == .success } }
    }

    private let entries = Mutex<[Entry]>([])

    package init() {}

    package var count: Int { entries.withLock { $0.count } }

    package var all: [Entry] { entries.withLock { $0 } }

    /// Returns an entry by its index, or `nil` if there is no such entry.
    package subscript(number: Int) -> Entry? { entries.withLock { $0.indices.contains(number) ? $0[number] : nil } }

    /// Appends entries and returns their indices.
    func append(_ new: [Entry]) -> Range<Int> {
        entries.withLock {
            $0 += new
            return $0.count - new.count..<$0.count
        }
    }

    /// Adds an attempt. The dates of the attempts of one notification ascend even if the clock is fixed.
    func add(_ result: SendAttempt.Result, at now: Timestamp, to number: Int) {
        entries.withLock { entries in
            let last = entries[number].attempts.last?.date ?? entries[number].notification.date
            let date = max(now, last.advanced(byMilliseconds: 1))
            entries[number].attempts.append(SendAttempt(date: date, result: result))
        }
    }
}
