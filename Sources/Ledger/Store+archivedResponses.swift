package import Foundation
import GRDB
package import StoreTypes

/// Apple's last good answer to a question, as it is kept.
package struct ArchivedResponseRow: Sendable, Hashable {
    /// A digest of the question: ``receiptDigestSize`` bytes of the receipt, then others of the rest.
    package let question: [UInt8]
    /// The status, the body, and what was taken out of the body to be kept apart.
    package let status: Int
    package let body: [UInt8]
    package let latestReceipt: Data?
    /// The same where the answer is the same, whatever was signed anew in it.
    package let digest: [UInt8]
    /// First transactions of the purchases in it: whose answer it is.
    package let originals: [String]

    package init(
        question: [UInt8], status: Int, body: [UInt8], latestReceipt: Data?, digest: [UInt8], originals: [String]
    ) {
        self.question = question
        self.status = status
        self.body = body
        self.latestReceipt = latestReceipt
        self.digest = digest
        self.originals = originals
    }

    /// Bytes at the beginning of ``question`` that are the same for every question about one receipt.
    static let receiptDigestSize = 32

    /// Bytes, with what SQLite needs beside it.
    fileprivate var size: Int {
        300 + body.count + (latestReceipt?.count ?? 0) + originals.reduce(0) { $0 + $1.utf8.count + 1 }
    }
}

/// What keeping an answer changed.
package struct ArchiveChange: Sendable, Hashable {
    /// How many bytes more are kept than before.
    package let bytes: Int
    /// Questions of the same customer whose answers were deleted for it.
    package let deleted: [[UInt8]]
}

/// One that was found again.
package struct ArchivedResponseMatch: Sendable {
    /// The environment is the one that Apple answered from.
    package let scope: AppScope
    /// When Apple said so last.
    package let keptAt: Timestamp
    package let status: Int
    package let body: [UInt8]
    package let latestReceipt: Data?
}

extension Store {
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

    /// How long the same answer is not written down again, in milliseconds.
    private static let day: Int64 = 86_400_000

    /// Keeps an answer in place of the one to the same question. One that is kept already is only marked as heard again,
    /// and that once a day. Of one customer at most ``answersPerCustomer`` are kept; the oldest are deleted.
    package func save(
        _ row: ArchivedResponseRow, of scope: AppScope, at now: Timestamp
    ) async throws(StorageError) -> ArchiveChange {
        try await write { db in
            let find = try db.cachedStatement(sql: "SELECT digest, keptAt, size, app FROM lastGood WHERE question = ?")
            let before = try Row.fetchOne(find, arguments: [Data(row.question)])
            let app = try Self.number(of: scope, in: db)
            if let before, before[0] as Data == Data(row.digest), before[3] as Int64 == app {
                let age = now.milliseconds - (before[1] as Int64)
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
                bytes: row.size - (before.map { $0[2] as Int } ?? 0) - excess.bytes, deleted: excess.questions)
        }
    }

    /// Answers of one customer: variants of a receipt or of a password take no room of other customers.
    private static let answersPerCustomer = 8

    /// Deletes the oldest answers to the same receipt, or about the same purchases, beyond ``answersPerCustomer``.
    private static func deleteExcess(
        of row: ArchivedResponseRow, keeping id: Int64, app: Int64, in db: Database
    ) throws -> (bytes: Int, questions: [[UInt8]]) {
        let receipt = Data(row.question.prefix(ArchivedResponseRow.receiptDigestSize))
        let find = try db.cachedStatement(
            sql: """
                SELECT id, size, question FROM lastGood
                WHERE id <> :id
                AND (app = :app AND originals = :originals AND originals <> '' OR question >= :first AND question < :end)
                ORDER BY keptAt DESC, id DESC LIMIT -1 OFFSET \(answersPerCustomer - 1)
                """)
        let excess = try Row.fetchAll(
            find,
            arguments: [
                "id": id, "app": app, "originals": row.originals.joined(separator: " "), "first": receipt,
                "end": receipt + Data(repeating: 0xFF, count: row.question.count),
            ])
        for row in excess {
            try db.cachedStatement(sql: "DELETE FROM lastGood WHERE id = ?").execute(arguments: [row[0] as Int64])
        }
        return (excess.reduce(0) { $0 + ($1[1] as Int) }, excess.map { [UInt8]($0[2] as Data) })
    }

    /// The answer to a question; nil where none is kept.
    package func archivedResponse(to question: [UInt8]) async throws(StorageError) -> ArchivedResponseMatch? {
        try await read { db in
            let find = try db.cachedStatement(
                sql: """
                    SELECT bundleId, environment, keptAt, status, body, latestReceipt
                    FROM lastGood JOIN app ON app.id = lastGood.app WHERE question = ?
                    """)
            guard let row = try Row.fetchOne(find, arguments: [Data(question)]),
                let bundleId = BundleIdentifier(rawValue: row[0]),
                let environment = AppStoreEnvironment(rawValue: row[1])
            else { return nil }
            return ArchivedResponseMatch(
                scope: AppScope(bundleId: bundleId, environment: environment),
                keptAt: Timestamp(milliseconds: row[2]), status: row[3], body: [UInt8](row[4] as Data),
                latestReceipt: row[5])
        }
    }

    /// Whether a notification or a look-up told of one of these purchases since.
    package func holdsNews(
        of originals: [String], in scope: AppScope, since: Timestamp
    ) async throws(StorageError) -> Bool {
        try await read { db in
            let find = try db.cachedStatement(
                sql: """
                    SELECT 1 FROM transactionRecord JOIN app ON app.id = transactionRecord.app
                    WHERE originalTransactionId = ? AND bundleId = ? AND environment = ? AND signedDate > ? LIMIT 1
                    """)
            return try originals.contains { original in
                try Int.fetchOne(
                    find,
                    arguments: [original, scope.bundleId.rawValue, scope.environment.rawValue, since.milliseconds])
                    != nil
            }
        }
    }

    /// Answers that are kept, and their bytes.
    package func lastGoodUsage() async throws(StorageError) -> (count: Int, bytes: Int) {
        try await read { db in
            let row = try Row.fetchOne(db, sql: "SELECT count(*), coalesce(sum(size), 0) FROM lastGood")
            return (row?[0] ?? 0, row?[1] ?? 0)
        }
    }

    /// Forgets the answers from before that time, and the oldest others until so many bytes are left; some at a time, so
    /// that nobody who wants something written waits for long.
    ///
    /// - Returns: whether there may be more to forget.
    package func deleteArchivedResponses(before time: Timestamp, downTo bytes: Int) async throws(StorageError) -> Bool {
        try await write { db in
            let total = try Int.fetchOne(db, sql: "SELECT coalesce(sum(size), 0) FROM lastGood") ?? 0
            var excess = total - bytes
            let oldest = try Row.fetchAll(
                db, sql: "SELECT id, keptAt, size FROM lastGood ORDER BY keptAt LIMIT \(Self.forgotten)")
            var count = 0
            for row in oldest where excess > 0 || (row[1] as Int64) < time.milliseconds {
                try db.cachedStatement(sql: "DELETE FROM lastGood WHERE id = ?").execute(arguments: [row[0] as Int64])
                excess -= row[2] as Int
                count += 1
            }
            return count == Self.forgotten
        }
    }

    /// Answers that are forgotten at a time.
    private static let forgotten = 500
}
