package import AppStoreTypes
import GRDB
import SQLiteFiles
package import Storage

extension SQLiteStore: RolloutStore {
    /// Creates the table of rollouts, and the table of their compared customers, each of them once.
    static func addRollouts(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE rollout (
                    id INTEGER PRIMARY KEY, bundleId TEXT NOT NULL, block TEXT NOT NULL, startedAt INTEGER NOT NULL,
                    stoppedAt INTEGER, compared INTEGER NOT NULL, different INTEGER NOT NULL, UNIQUE (bundleId, block));
                CREATE TABLE rolloutCustomer (
                    rollout INTEGER NOT NULL REFERENCES rollout (id) ON DELETE CASCADE, environment TEXT NOT NULL,
                    customer INTEGER NOT NULL, isDifferent INTEGER NOT NULL, comparedAt INTEGER NOT NULL,
                    PRIMARY KEY (rollout, environment, customer)) WITHOUT ROWID;
                """)
    }

    package func rollout(_ key: RolloutKey, at now: Timestamp) async throws(StorageError) -> StoredRollout {
        if let row = try await read({ db in try Self.rollout(key, db) }) { return row.state }
        return try await write { db in try Self.startedRollout(key, at: now, db).state }
    }

    package func add(
        _ customers: [RolloutCustomer], to key: RolloutKey, limit: Int, at now: Timestamp
    ) async throws(StorageError) -> StoredRollout {
        try await write { db in
            let id = try Self.startedRollout(key, at: now, db).id
            let statement = try db.cachedStatement(
                sql: """
                    INSERT INTO rolloutCustomer VALUES (?1, ?2, ?3, ?4, ?5)
                    ON CONFLICT DO UPDATE SET
                        isDifferent = max(isDifferent, excluded.isDifferent),
                        comparedAt = max(comparedAt, excluded.comparedAt)
                    """)
            for customer in customers {
                try statement.execute(arguments: [
                    id, customer.environment, customer.digest, customer.isDifferent, now.milliseconds,
                ])
            }
            try Self.deleteOldest(of: id, downTo: limit, db)
            try db.cachedStatement(
                sql: """
                    UPDATE rollout SET (compared, different) = (
                        SELECT count(*), coalesce(sum(isDifferent), 0) FROM rolloutCustomer WHERE rollout = ?1)
                    WHERE id = ?1
                    """
            ).execute(arguments: [id])
            return try Self.startedRollout(key, at: now, db).state
        }
    }

    package func stop(_ key: RolloutKey, at now: Timestamp) async throws(StorageError) -> StoredRollout {
        try await write { db in
            let id = try Self.startedRollout(key, at: now, db).id
            try db.execute(
                sql: "UPDATE rollout SET stoppedAt = coalesce(stoppedAt, ?) WHERE id = ?",
                arguments: [now.milliseconds, id])
            return try Self.startedRollout(key, at: now, db).state
        }
    }

    /// Deletes the customers that were compared longest ago.
    private static func deleteOldest(of rollout: Int64, downTo limit: Int, _ db: Database) throws {
        let count = try db.integer("SELECT count(*) FROM rolloutCustomer WHERE rollout = ?", [rollout])
        guard let count, count > limit else { return }
        try db.execute(
            sql: """
                DELETE FROM rolloutCustomer WHERE rollout = ?1 AND (environment, customer) IN (
                    SELECT environment, customer FROM rolloutCustomer WHERE rollout = ?1
                    ORDER BY comparedAt, environment, customer LIMIT ?2)
                """, arguments: [rollout, count - Int64(limit)])
    }

    /// Returns a rollout, and adds it if it is not stored.
    private static func startedRollout(
        _ key: RolloutKey, at now: Timestamp, _ db: Database
    ) throws -> (id: Int64, state: StoredRollout) {
        if let row = try rollout(key, db) { return row }
        try db.execute(
            sql: "INSERT INTO rollout (bundleId, block, startedAt, compared, different) VALUES (?, ?, ?, 0, 0)",
            arguments: [key.bundleId.rawValue, key.block, now.milliseconds])
        return (db.lastInsertedRowID, StoredRollout(startedAt: now))
    }

    private static func rollout(_ key: RolloutKey, _ db: Database) throws -> (id: Int64, state: StoredRollout)? {
        try db.row(
            "SELECT id, startedAt, stoppedAt, compared, different FROM rollout WHERE bundleId = ? AND block = ?",
            [key.bundleId.rawValue, key.block]
        ).map { row in
            let state = StoredRollout(
                startedAt: try row.timestamp(1), stoppedAt: try row.optionalTimestamp(2), compared: try row.integer(3),
                different: try row.integer(4))
            return (try row.integer(0), state)
        }
    }
}
