import ReceiptBridgeBase
import GRDB

extension SQLiteRow {
    /// Returns a JWS: TEXT if it is raw, a BLOB if it is packed.
    func jws(_ column: Int) -> EncodedJWS {
        switch value(column).storage {
        case .string(let text): .raw(text)
        case .blob(let bytes): PackedJWS(bytes).map { .packed($0) } ?? .damaged
        case .null, .int64, .double: .damaged
        }
    }
}

extension SQLiteStore {
    /// Returns what `read` makes of the rows. What is damaged counts as missing, and is written again.
    static func intact<Value>(_ rows: [SQLiteRow], _ read: (SQLiteRow) throws -> Value?) throws -> [Value] {
        try rows.compactMap { row in
            do {
                return try read(row)
            } catch is DamagedValue {
                return nil
            }
        }
    }
}
