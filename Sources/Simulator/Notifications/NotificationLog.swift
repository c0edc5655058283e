import StoreTypes
import Synchronization

/// The notifications that were made since the world began, and what became of sending them.
package final class NotificationLog: Sendable {
    package struct Entry: Sendable {
        package let notification: SimulatedNotification
        /// In Get Notification History: Apple records what is meant for a version 2 address, and no tests here.
        package let isListed: Bool
        package var attempts: [SendAttempt]

        package var isDelivered: Bool { attempts.contains { $0.result == .success } }
    }

    private let entries = Mutex<[Entry]>([])

    package init() {}

    package var count: Int { entries.withLock { $0.count } }

    package var all: [Entry] { entries.withLock { $0 } }

    package subscript(number: Int) -> Entry? { entries.withLock { $0.indices.contains(number) ? $0[number] : nil } }

    /// Gives the new entries' numbers.
    func append(_ new: [Entry]) -> Range<Int> {
        entries.withLock {
            $0 += new
            return $0.count - new.count..<$0.count
        }
    }

    /// Attempts of one notification have ascending dates, even where the clock stands still.
    func add(_ result: SendAttempt.Result, at now: Timestamp, to number: Int) {
        entries.withLock { entries in
            let last = entries[number].attempts.last?.date ?? entries[number].notification.date
            let date = max(now, last.advanced(byMilliseconds: 1))
            entries[number].attempts.append(SendAttempt(date: date, result: result))
        }
    }
}
