import ReceiptBridgeBase
import Foundation
import GRDB

extension SQLiteStore: LeaseStore {
    /// Asks the system whether the process of the holder has ended, which no other engine can. A damaged lease is free.
    package func claim(
        _ task: SharedTask, for holder: String, lasting duration: Duration
    ) async throws(StorageError) -> TaskLease? {
        try await write { db in
            let now = Timestamp.now
            let isLeased = Self.dialect.isLeased("expiresAt", after: "?2", at: "?2")
            let rows = try db.rows(
                "SELECT holder, term, \(isLeased) FROM lease WHERE name = ?1", [task.rawValue, now.milliseconds])
            let current = try Self.intact(rows) {
                (holder: try $0.text(0), term: try $0.integer(1), isLeased: try $0.boolean(2))
            }.first
            var term: Int64 = 1
            if let current {
                let isHeld = current.isLeased && !Self.hasEnded(current.holder)
                guard !isHeld || current.holder == holder else { return nil }
                term = current.term + (isHeld ? 0 : 1)
            }
            let lease = TaskLease(task: task, holder: holder, term: term, expiresAt: now.advanced(by: duration))
            try db.execute(
                sql: """
                    INSERT INTO lease VALUES (?1, ?2, ?3, ?4)
                    ON CONFLICT (name) DO UPDATE SET holder = ?2, term = ?3, expiresAt = ?4
                    """, arguments: [task.rawValue, holder, term, lease.expiresAt.milliseconds])
            return lease
        }
    }
}
