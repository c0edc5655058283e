package import ReceiptBridgeBase
import Foundation

/// Apple's last good verifyReceipt responses, one for each request.
package protocol ResponseArchiveStore: SQLEngine {}

/// Minimum time between two updates of `keptAt` for an unchanged response: one day, in milliseconds.
private let day = Duration.days(1).inMilliseconds
/// Maximum number of responses of one customer. Otherwise variants of one receipt or password could displace the
/// responses of other customers.
private let answersPerCustomer = 8
private let deletionBatch = 500

extension ResponseArchiveStore {
    private var size: String { dialect.count("size") }

    /// Stores a response and replaces the previous one to the same request. If it is unchanged, only the time is
    /// updated, at most once a day. Only the latest responses of one customer are stored.
    package func save(
        _ row: ArchivedResponseRow, of scope: AppScope, at now: Timestamp
    ) async throws(StorageError) -> ArchiveChange {
        let app = try await appID(of: scope)
        let keptAt = try await readIntact(
            SQLStatement("SELECT digest, app, keptAt FROM lastGood WHERE question = $1", .bytes(row.question))
        ) { (stored) throws(StorageError) -> Int64? in
            guard try stored.bytes(0) == row.digest, try stored.rowID(1) == app else { return nil }
            return try stored.timestamp(2).milliseconds
        }.first
        guard let keptAt else { return try await replace(row, app: app, at: now) }
        if !(0..<day).contains(now.milliseconds - keptAt) {
            try await write([
                SQLStatement(
                    "UPDATE lastGood SET keptAt = $1 WHERE question = $2 AND digest = $3 AND app = $4",
                    SQLValue(now), .bytes(row.question), .bytes(row.digest), .integer(app))
            ])
        }
        return ArchiveChange(bytes: 0, deleted: [])
    }

    /// Stores a response, and deletes the oldest ones to the same receipt, or about the same purchases, beyond
    /// ``answersPerCustomer``.
    private func replace(
        _ row: ArchivedResponseRow, app: Int64, at now: Timestamp
    ) async throws(StorageError) -> ArchiveChange {
        let receipt = Array(row.question.prefix(ArchivedResponseRow.receiptDigestSize))
        let originals = row.originals.joined(separator: " ")
        let locks = locks(of: ["archive \(Hexadecimal.text(of: receipt))", "archive \(originals)"], app: app)
        let find = SQLStatement(
            "SELECT \(size), question, keptAt FROM lastGood WHERE question = $1", .bytes(row.question))
        let insert = SQLStatement(
            """
            INSERT INTO lastGood (question, app, keptAt, size, originals, digest, status, body, latestReceipt)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            ON CONFLICT (question) DO UPDATE SET
                app = excluded.app, keptAt = excluded.keptAt, size = excluded.size, originals = excluded.originals,
                digest = excluded.digest, status = excluded.status, body = excluded.body,
                latestReceipt = excluded.latestReceipt
            """,
            .bytes(row.question), .integer(app), SQLValue(now), .integer(Int64(row.size)), .text(originals),
            .bytes(row.digest), .integer(Int64(row.status)), .bytes(row.body),
            row.latestReceipt.map { .bytes([UInt8]($0)) })
        let deleteExcess = SQLStatement(
            """
            DELETE FROM lastGood WHERE id IN (
                SELECT id FROM lastGood WHERE question <> $1 AND (
                    app = $2 AND originals = $3 AND originals <> '' OR question >= $4 AND question < $5)
                ORDER BY keptAt DESC, id DESC \(dialect.offset("$6")))
            RETURNING \(size), question, keptAt
            """,
            .bytes(row.question), .integer(app), .text(originals), .bytes(receipt),
            .bytes(receipt + [UInt8](repeating: 0xFF, count: row.question.count)),
            .integer(Int64(answersPerCustomer - 1)))
        typealias Replaced = (bytes: Int, question: [UInt8], keptAt: Int64)
        let replaced = try await write(locks + [find, insert, deleteExcess]) {
            (index, row) throws(StorageError) -> Replaced? in
            guard index >= locks.count else { return nil }
            return try self.intact(row) { (row) throws(StorageError) in
                (try row.count(0), try row.bytes(1), try row.timestamp(2).milliseconds)
            }
        }
        let deleted = replaced.filter { $0.question != row.question }.sorted { $0.keptAt > $1.keptAt }
        return ArchiveChange(bytes: replaced.reduce(row.size) { $0 - $1.bytes }, deleted: deleted.map(\.question))
    }

    package func lastGoodUsage() async throws(StorageError) -> (count: Int, bytes: Int) {
        try await read(
            SQLStatement("SELECT count(*), CAST(coalesce(sum(\(size)), 0) AS bigint) FROM lastGood")
        ) { (row) throws(StorageError) in
            (Int(try row.integer(0)), Int(try row.integer(1)))
        }.first ?? (0, 0)
    }

    /// Deletes responses from before that time, and the oldest others until at most this many bytes are left. One call
    /// deletes a single batch, so that other writes do not wait long. Returns whether there may be more to delete.
    package func deleteArchivedResponses(before time: Timestamp, downTo bytes: Int) async throws(StorageError) -> Bool {
        // Without the lock a second server would delete as much again.
        let deleted = try await write(
            locks(of: ["archive limits"], app: 0) + [
                SQLStatement(
                    """
                    WITH oldest AS (
                        SELECT id, keptAt, \(size) AS size FROM lastGood ORDER BY keptAt, id LIMIT \(deletionBatch)
                        \(dialect.lockingFree)),
                    summed AS (
                        SELECT id, keptAt, sum(size) OVER (ORDER BY keptAt, id) - size AS older FROM oldest)
                    DELETE FROM lastGood WHERE id IN (
                        SELECT id FROM summed
                        WHERE keptAt < $1 OR older < (SELECT coalesce(sum(\(size)), 0) FROM lastGood) - $2)
                    RETURNING id
                    """, SQLValue(time), .integer(Int64(bytes)))
            ]
        ) { (row) throws(StorageError) in try row.integer(0) }
        return deleted.count == deletionBatch
    }

    /// Returns the archived response to ``ArchivedResponseRow/question``.
    package func archivedResponse(to question: [UInt8]) async throws(StorageError) -> ArchivedResponseMatch? {
        try await read(
            SQLStatement(
                """
                SELECT bundleId, environment, keptAt, status, body, latestReceipt
                FROM lastGood JOIN app ON app.id = lastGood.app WHERE question = $1
                """, .bytes(question))
        ) { (row) throws(StorageError) -> ArchivedResponseMatch? in
            guard let scope = try row.scope(0, 1) else { return nil }
            return ArchivedResponseMatch(
                scope: scope, keptAt: try row.timestamp(2), status: Int(try row.integer(3)), body: try row.bytes(4),
                latestReceipt: try row.optionalBytes(5).map { Data($0) })
        }.first
    }
}
