package import Storage
import Foundation
import GRDB
import SQLiteFiles
package import AppStoreTypes

extension SQLiteStore: ResponseArchiveStore {
    /// Creates the archive table `lastGood`, with one row for each request. `originals` contains original transaction
    /// ids, separated by spaces.
    static func addLastGood(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE lastGood (
                    id INTEGER PRIMARY KEY, question BLOB NOT NULL UNIQUE, app INTEGER NOT NULL REFERENCES app (id),
                    keptAt INTEGER NOT NULL, size INTEGER NOT NULL, originals TEXT NOT NULL, digest BLOB NOT NULL,
                    status INTEGER NOT NULL, body BLOB NOT NULL, latestReceipt BLOB);
                CREATE INDEX lastGoodByDate ON lastGood (keptAt, size);
                CREATE INDEX lastGoodByOriginals ON lastGood (app, originals);
                """)
    }

    /// Minimum time between two updates of `keptAt` for an unchanged response: one day, in milliseconds.
    private static let day: Int64 = 86_400_000

    /// Stores a response and replaces the previous one to the same request. If it is unchanged, only `keptAt` is
    /// updated, at most once a day. At most ``answersPerCustomer`` responses of one customer are stored; the oldest
    /// are deleted.
    package func save(
        _ row: ArchivedResponseRow, of scope: AppScope, at now: Timestamp
    ) async throws(StorageError) -> ArchiveChange {
        try await write { db in
            let stored = try db.rows(
                "SELECT digest, keptAt, size, app FROM lastGood WHERE question = ?", [Data(row.question)])
            let before = try Self.intact(stored) {
                (
                    digest: try $0.bytes(0), keptAt: try $0.integer(1), size: try $0.integer(2), app: try $0.integer(3)
                )
            }.first
            let app = try Self.appID(of: scope, in: db)
            if let before, before.digest == row.digest, before.app == app {
                let age = now.milliseconds.subtractingReportingOverflow(before.keptAt).partialValue
                if !(0..<Self.day).contains(age) {
                    try db.cachedStatement(sql: "UPDATE lastGood SET keptAt = ? WHERE question = ?").execute(
                        arguments: [now.milliseconds, Data(row.question)])
                }
                return ArchiveChange(bytes: 0, deleted: [])
            }
            try db.cachedStatement(
                sql: """
                    INSERT OR REPLACE INTO lastGood
                        (question, app, keptAt, size, originals, digest, status, body, latestReceipt)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """
            ).execute(
                arguments: [
                    Data(row.question), app, now.milliseconds, row.size, row.originals.joined(separator: " "),
                    Data(row.digest), row.status, Data(row.body), row.latestReceipt,
                ])
            let excess = try Self.deleteExcess(of: row, keeping: db.lastInsertedRowID, app: app, in: db)
            return ArchiveChange(
                bytes: row.size - Int(before?.size ?? 0) - excess.bytes, deleted: excess.questions)
        }
    }

    /// Maximum number of responses of one customer. Otherwise variants of one receipt or password could displace the
    /// responses of other customers.
    private static let answersPerCustomer = 8

    /// Deletes the oldest responses to the same receipt, or about the same purchases, beyond ``answersPerCustomer``.
    private static func deleteExcess(
        of row: ArchivedResponseRow, keeping id: Int64, app: Int64, in db: Database
    ) throws -> (bytes: Int, questions: [[UInt8]]) {
        let receipt = Data(row.question.prefix(ArchivedResponseRow.receiptDigestSize))
        let excess = try db.rows(
            """
            SELECT id, size, question FROM lastGood
            WHERE id <> :id
            AND (app = :app AND originals = :originals AND originals <> '' OR question >= :first AND question < :end)
            ORDER BY keptAt DESC, id DESC LIMIT -1 OFFSET \(answersPerCustomer - 1)
            """,
            [
                "id": id, "app": app, "originals": row.originals.joined(separator: " "), "first": receipt,
                "end": receipt + Data(repeating: 0xFF, count: row.question.count),
            ])
        for row in excess {
            try db.cachedStatement(sql: "DELETE FROM lastGood WHERE id = ?").execute(arguments: [try row.integer(0)])
        }
        let deleted = try intact(excess) { (bytes: try $0.integer(1), question: try $0.bytes(2)) }
        return (deleted.reduce(0) { $0 + Int($1.bytes) }, deleted.map(\.question))
    }

    /// Returns whether a record of one of these purchases was signed after that time. Records come from notifications
    /// and lookups.
    package func hasNewerRecord(
        of originals: [String], in scope: AppScope, since: Timestamp
    ) async throws(StorageError) -> Bool {
        try await read { db in
            try originals.contains { original in
                try db.exists(
                    """
                    SELECT 1 FROM transactionRecord JOIN app ON app.id = transactionRecord.app
                    WHERE originalTransactionId = ? AND bundleId = ? AND environment = ? AND signedDate > ? LIMIT 1
                    """, [original, scope.bundleId.rawValue, scope.environment.rawValue, since.milliseconds])
            }
        }
    }

    /// Returns the number of archived responses, and their size in bytes.
    package func lastGoodUsage() async throws(StorageError) -> (count: Int, bytes: Int) {
        try await read { db in
            let row = try db.row("SELECT count(*), \(Self.bytes) FROM lastGood")
            return (Int(try row?.integer(0) ?? 0), Int(try row?.integer(1) ?? 0))
        }
    }

    /// Deletes responses from before that time, and the oldest others until at most this many bytes are left. One
    /// call deletes a single batch, so that other writes do not wait long.
    ///
    /// - Returns: whether there may be more to delete.
    package func deleteArchivedResponses(before time: Timestamp, downTo bytes: Int) async throws(StorageError) -> Bool {
        try await write { db in
            let total = try db.integer("SELECT \(Self.bytes) FROM lastGood") ?? 0
            var excess = total - Int64(bytes)
            let oldest = try db.rows(
                """
                SELECT id, keptAt < ?, CAST(size AS INTEGER) FROM lastGood ORDER BY keptAt LIMIT \(Self.deletionBatch)
                """, [time.milliseconds])
            var count = 0
            for row in oldest where try excess > 0 || row.boolean(1) {
                try db.cachedStatement(sql: "DELETE FROM lastGood WHERE id = ?").execute(arguments: [try row.integer(0)]
                )
                excess -= try row.integer(2)
                count += db.changesCount
            }
            return count == Self.deletionBatch
        }
    }

    /// SQL of the size of all responses. A damaged size counts as the number that it begins with.
    private static let bytes = "coalesce(sum(CAST(size AS INTEGER)), 0)"
    /// Maximum number of responses that are deleted in one transaction.
    private static let deletionBatch = 500
}
