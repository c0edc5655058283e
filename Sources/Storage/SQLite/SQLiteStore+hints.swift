package import Base
import GRDB

/// Version 1 notifications. They are unsigned, so they count only as hints, and only the transaction ids of the body
/// are stored.
extension SQLiteStore {
    /// Number of bodies that are reduced in the first transaction. Each can have 1 MiB.
    private static let firstBodies = 4
    /// SQL condition of rows of older versions, which stored the whole body. Also the condition of the index
    /// `wholeHint`.
    private static let isWhole = "version = 1 AND instr(text, '{') > 0"

    /// Creates the indices of version 1 notifications.
    static func addHints(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE INDEX hintByArrival ON notification (app, receivedAt) WHERE version = 1;
                CREATE INDEX wholeHint ON notification (id) WHERE \(isWhole)
                """)
    }

    /// Stores an unsigned notification and marks the customers that need a new lookup.
    ///
    /// - Parameter hints: identifiers of those customers.
    package func save(
        hint notification: NotificationRow, about hints: [TransactionIdentifier], of scope: AppScope
    ) async throws(StorageError) -> NotificationOutcome {
        let hintsPerDay = hintsPerDay
        return try await write { db in
            let app = try Self.appID(of: scope, in: db)
            let texts = EncodedNotification(raw: notification.text)
            guard
                try Self.insert(
                    notification, as: texts, about: hints.first?.rawValue, app: app, in: WriteTransaction(db)) != nil
            else { return .repeated }
            try Self.deleteOldestHints(
                of: app, onDayOf: notification.receivedAt, keeping: hintsPerDay, in: db)
            try Self.markStale(
                customersOf: hints.map(\.rawValue), app: app, since: notification.receivedAt, in: db)
            return .stored(isNew: false)
        }
    }

    /// Deletes the oldest version 1 notifications of an app's UTC day beyond `count`.
    private static func deleteOldestHints(
        of app: Int64, onDayOf time: Timestamp, keeping count: Int, in db: Database
    ) throws {
        let day: Int64 = 86_400_000
        let start = time.milliseconds - time.milliseconds % day
        try db.cachedStatement(
            sql: """
                DELETE FROM notification WHERE id IN (
                    SELECT id FROM notification WHERE version = 1 AND app = ? AND receivedAt >= ? AND receivedAt < ?
                    ORDER BY receivedAt DESC, id DESC LIMIT -1 OFFSET ?)
                """
        ).execute(arguments: [app, start, start + day, count])
    }

    package func wholeHintCount() async throws(StorageError) -> Int {
        Int(try await read { try $0.integer("SELECT count(*) FROM notification WHERE \(Self.isWhole)") } ?? 0)
    }

    /// Works in small batches, between which other tasks can write.
    package func reduceHints(pause: (Duration) async -> Bool) async throws(StorageError) -> Int {
        var batch = RetentionBatch(size: Self.firstBodies)
        while true {
            let (limit, start) = (batch.size, ContinuousClock.now)
            let count = try await write { db in try Self.reduceHints(limit, in: db) }
            batch.add(count, since: start)
            guard count > 0, await pause(batch.time) else { return batch.count }
        }
    }

    /// Reduces at most `limit` bodies. If SQLite cannot parse a body as JSON, only the id in its column remains.
    private static func reduceHints(_ limit: Int, in db: Database) throws -> Int {
        try db.cachedStatement(
            sql: """
                UPDATE notification SET text = CASE WHEN json_valid(text) THEN coalesce((
                    SELECT group_concat(id, ' ') FROM (
                        SELECT DISTINCT CAST(atom AS TEXT) AS id FROM json_tree(notification.text)
                        WHERE key IN ('original_transaction_id', 'transaction_id')
                        AND length(atom) BETWEEN 1 AND 20 AND atom NOT GLOB '*[^0-9]*'
                        LIMIT \(NotificationRow.maximumIdentifiers))), '') ELSE '' END
                WHERE id IN (SELECT id FROM notification WHERE \(isWhole) LIMIT ?)
                """
        ).execute(arguments: [limit])
        return db.changesCount
    }
}
