import Base
import Foundation
import GRDB

extension SQLiteStore: LeaseStore {
    /// Creates the tables that processes with the same store use to agree with each other, and the indices of lookups.
    ///
    /// - `lease`: the last holder of each task (``SharedTask``). A row is never deleted, so that terms ascend.
    /// - `presenter`: the first presenter of each purchase.
    static func addCoordination(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE lease (
                    name TEXT PRIMARY KEY, holder TEXT NOT NULL, term INTEGER NOT NULL, expiresAt INTEGER NOT NULL
                ) WITHOUT ROWID;
                CREATE TABLE presenter (
                    id INTEGER PRIMARY KEY, app INTEGER NOT NULL REFERENCES app (id),
                    originalTransactionId TEXT NOT NULL, presenter BLOB NOT NULL, seenAt INTEGER NOT NULL,
                    UNIQUE (originalTransactionId, app));
                CREATE INDEX revocationByLineItem ON revocation (webOrderLineItemId, app)
                    WHERE webOrderLineItemId IS NOT NULL;
                """)
    }

    /// Asks the system whether the process of the holder has ended, which no other engine can. A damaged lease is free.
    package func claim(
        _ task: SharedTask, for holder: String, lasting duration: Duration
    ) async throws(StorageError) -> TaskLease? {
        try await write { db in
            let now = Timestamp.now
            let rows = try db.rows("SELECT holder, term, expiresAt FROM lease WHERE name = ?", [task.rawValue])
            let current = try Self.intact(rows) {
                (holder: try $0.text(0), term: try $0.integer(1), expiresAt: try $0.timestamp(2))
            }.first
            var term: Int64 = 1
            if let current {
                let isHeld = current.expiresAt > now && !Self.hasEnded(current.holder)
                guard !isHeld || current.holder == holder else { return nil }
                term = current.term &+ (isHeld ? 0 : 1)
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

extension SQLiteStore: PresenterStore {}
