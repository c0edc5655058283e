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

extension MigrationLedger {
    package func add(_ refusals: [Refusal]) throws(LedgerError) {
        guard !refusals.isEmpty else { return }
        try write { db in
            let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO refusal VALUES (?, ?, ?, ?, ?)")
            for refusal in refusals {
                try statement.execute(
                    arguments: [
                        refusal.row, refusal.id.asBytes, refusal.code, refusal.place.asBytes, refusal.reason.asBytes,
                    ])
            }
        }
    }

    /// The next ones behind a row, in the order of rows.
    package func refusals(after row: Int64, limit: Int) throws(LedgerError) -> [Refusal] {
        try read { db in
            try Row.fetchAll(
                db, sql: "SELECT row, id, code, place, reason FROM refusal WHERE row > ? ORDER BY row LIMIT ?",
                arguments: [row, limit]
            ).map { row in
                Refusal(
                    row: row[0], id: String(bytes: row[1]), code: row[2], place: String(bytes: row[3]),
                    reason: String(bytes: row[4]))
            }
        }
    }

    /// Takes back what was noted of rows behind this one.
    package func forgetRows(after row: Int64) throws(LedgerError) {
        try write { db in
            try db.execute(sql: "DELETE FROM refusal WHERE row > ?", arguments: [row])
            try db.execute(sql: "DELETE FROM staged WHERE row > ?", arguments: [row])
        }
    }
}
