import ReceiptBridgeBase
import Foundation
import GRDB

/// The table of JWS headers, see ``JWSEncoder``.
extension SQLiteStore {
    /// Returns the original text of a column. Use it in read transactions only: a write may be rolled back, and the
    /// headers read here are cached.
    func text(_ row: SQLiteRow, _ column: Int, in db: Database) throws -> String {
        switch row.jws(column) {
        case .raw(let text): text
        case .packed(let packed):
            String(decoding: try packed.text { id in try header(id, in: db) }, as: UTF8.self)
        case .damaged: throw row.damage(column)
        }
    }

    private func header(_ id: UInt16, in db: Database) throws -> [UInt8] {
        if let existing = headers.text(of: id) { return existing }
        guard let header = try db.row("SELECT text FROM signedHeader WHERE id = ?", [id])?.bytes(0) else {
            throw DamagedValue(column: "signedHeader.id")
        }
        headers.insert(id, header)
        return header
    }
}

extension EncodedJWS {
    /// TEXT for a raw JWS, BLOB for a packed one. SQLite stores a BLOB unchanged, also in a TEXT column.
    var databaseValue: DatabaseValue {
        switch self {
        case .raw(let text): text.databaseValue
        case .packed(let text): Data(text.encoded).databaseValue
        case .damaged: .null
        }
    }
}
