import Foundation
import GRDB
package import Reports
package import Storage

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
        try db.key(
            in: "refusalReason",
            [("code", refusal.code), ("place", refusal.place.asBytes), ("reason", refusal.reason.asBytes)])
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
