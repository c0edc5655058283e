import Foundation
import GRDB

/// A row that was refused: all that a person needs to find it again, and nothing of the receipt.
package struct Refusal: Sendable, Hashable {
    /// In the source, from 1.
    package let row: Int64
    package let id: String
    package let code: String
    package let place: String
    package let reason: String

    package init(row: Int64, id: String, code: String, place: String, reason: String) {
        self.row = row
        self.id = id
        self.code = code
        self.place = place
        self.reason = reason
    }
}

extension String {
    /// For a column that takes text of others: as text it would end at its first zero byte.
    var asBytes: Data { Data(utf8) }

    init(bytes: Data) { self.init(decoding: bytes, as: UTF8.self) }
}

extension MigrationStore {
    /// Many rows are refused for few reasons. Each reason is stored once: a refused row then takes 25 bytes instead of 100.
    static let refusalTables = """
        CREATE TABLE refusalReason (
            key INTEGER PRIMARY KEY, code TEXT NOT NULL, place BLOB NOT NULL, reason BLOB NOT NULL,
            UNIQUE (code, place, reason));
        CREATE TABLE refusal (row INTEGER PRIMARY KEY, id BLOB NOT NULL, reason INTEGER NOT NULL);
        """

    /// The last version that stored the reason with each row.
    static let versionBeforeReasons: Int64 = 2

    /// Brings a file of ``versionBeforeReasons`` up to date.
    static func separateReasons(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE refusal RENAME TO wholeRefusal;
                \(refusalTables)
                INSERT INTO refusalReason (code, place, reason) SELECT DISTINCT code, place, reason FROM wholeRefusal;
                INSERT INTO refusal SELECT row, id, key FROM wholeRefusal JOIN refusalReason USING (code, place, reason);
                DROP TABLE wholeRefusal;
                """)
    }

    package func add(_ refusals: [Refusal]) throws(StorageError) {
        guard !refusals.isEmpty else { return }
        try write { db in
            let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO refusal VALUES (?, ?, ?)")
            for refusal in refusals {
                try statement.execute(arguments: [refusal.row, refusal.id.asBytes, self.reasonKey(of: refusal, in: db)])
            }
        }
    }

    private func reasonKey(of refusal: Refusal, in db: Database) throws -> Int64 {
        let reason: StatementArguments = [refusal.code, refusal.place.asBytes, refusal.reason.asBytes]
        let select = try db.cachedStatement(
            sql: "SELECT key FROM refusalReason WHERE code = ? AND place = ? AND reason = ?")
        if let key = try Int64.fetchOne(select, arguments: reason) { return key }
        try db.cachedStatement(sql: "INSERT INTO refusalReason (code, place, reason) VALUES (?, ?, ?)").execute(
            arguments: reason)
        return db.lastInsertedRowID
    }

    /// The next ones behind a row, in the order of rows.
    package func refusals(after row: Int64, limit: Int) throws(StorageError) -> [Refusal] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT row, id, code, place, refusalReason.reason
                    FROM refusal JOIN refusalReason ON refusalReason.key = refusal.reason
                    WHERE row > ? ORDER BY row LIMIT ?
                    """, arguments: [row, limit]
            ).map { row in
                Refusal(
                    row: row[0], id: String(bytes: row[1]), code: row[2], place: String(bytes: row[3]),
                    reason: String(bytes: row[4]))
            }
        }
    }

    /// Takes back what was noted of rows behind this one.
    package func deleteRows(after row: Int64) throws(StorageError) {
        try write { db in
            try db.execute(sql: "DELETE FROM refusal WHERE row > ?", arguments: [row])
            try db.execute(sql: "DELETE FROM staged WHERE row > ?", arguments: [row])
        }
    }
}
