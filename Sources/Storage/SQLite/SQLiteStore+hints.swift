import Base
import GRDB

/// Version 1 notifications. They are unsigned, so they count only as hints, and only the transaction ids of the body
/// are stored.
extension SQLiteStore {
    /// Number of bodies that are reduced in the first transaction. Each can have 1 MiB.
    private static let firstBodies = 4
    /// SQL condition of rows of older versions, which stored the whole body. Also the condition of the index
    /// `wholeHint`.
    private static let isWhole = "version = 1 AND instr(text, '{') > 0"

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
