import Foundation
import GRDB
package import Storage

/// A refused row: the data needed to find it in the source, without any part of the receipt.
package struct Refusal: Sendable, Hashable {
    /// Row number in the source, from 1.
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
    /// For columns with text from outside, which are stored as BLOB: SQLite would end TEXT at the first zero byte.
    var asBytes: Data { Data(utf8) }

    init(bytes: [UInt8]) { self.init(decoding: bytes, as: UTF8.self) }
}

extension MigrationStore {
    /// Stores refused rows. A row that is already stored is replaced.
    package func add(_ refusals: [Refusal]) throws(StorageError) {
        guard !refusals.isEmpty else { return }
        try write { db in
            let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO refusal VALUES (?, ?, ?)")
            for refusal in refusals {
                try statement.execute(arguments: [refusal.row, refusal.id.asBytes, self.reasonKey(of: refusal, in: db)])
            }
        }
    }

    /// Returns the key of a reason. Inserts a missing row.
    private func reasonKey(of refusal: Refusal, in db: Database) throws -> Int64 {
        let reason: StatementArguments = [refusal.code, refusal.place.asBytes, refusal.reason.asBytes]
        let existing = try db.integer(
            "SELECT key FROM refusalReason WHERE code = ? AND place = ? AND reason = ?", reason)
        if let existing { return existing }
        try db.cachedStatement(sql: "INSERT INTO refusalReason (code, place, reason) VALUES (?, ?, ?)").execute(
            arguments: reason)
        return db.lastInsertedRowID
    }

    /// Returns the next refusals after a row, in the order of rows.
    package func refusals(after row: Int64, limit: Int) throws(StorageError) -> [Refusal] {
        try read { db in
            try db.rows(
                """
                SELECT row, id, code, place, refusalReason.reason
                FROM refusal JOIN refusalReason ON refusalReason.key = refusal.reason
                WHERE row > ? ORDER BY row LIMIT ?
                """, [row, limit]
            ).map { row in
                Refusal(
                    row: try row.integer(0), id: String(bytes: try row.bytes(1)), code: try row.text(2),
                    place: String(bytes: try row.bytes(3)), reason: String(bytes: try row.bytes(4)))
            }
        }
    }

    /// Deletes refused and staged rows after this one.
    package func deleteRows(after row: Int64) throws(StorageError) {
        try write { db in
            try db.execute(sql: "DELETE FROM refusal WHERE row > ?", arguments: [row])
            try db.execute(sql: "DELETE FROM staged WHERE row > ?", arguments: [row])
        }
    }
}
