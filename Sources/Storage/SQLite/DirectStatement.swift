import GRDB
import GRDBSQLite

/// A prepared statement without results that is bound and run without GRDB's intermediate values.
///
/// GRDB boxes each argument, which took a quarter of the time of a notification's statements.
struct DirectStatement {
    /// Keeps the handle valid.
    private let owner: Statement
    private let handle: SQLiteStatement

    /// `nil` for a statement with results.
    init?(_ statement: Statement) {
        guard statement.columnCount == 0 else { return nil }
        owner = statement
        handle = statement.sqliteStatement
    }

    /// Binds the values of the parameters `$1`, `$2`, … and runs the statement.
    func run(_ values: [SQLValue]) throws {
        // A statement that failed before returns its error again when it is reset.
        sqlite3_reset(handle)
        for (number, value) in zip(1..., values) {
            bind(value, at: sqlite3_bind_parameter_index(handle, "$\(number)"))
        }
        let code = sqlite3_step(handle)
        let message = code == SQLITE_DONE ? "" : String(cString: sqlite3_errmsg(sqlite3_db_handle(handle)))
        sqlite3_reset(handle)
        guard code == SQLITE_DONE else { throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message) }
    }

    /// Binds the value of a parameter. SQLite copies it.
    private func bind(_ value: SQLValue, at index: CInt) {
        switch value {
        case .boolean(let flag): sqlite3_bind_int64(handle, index, flag ? 1 : 0)
        case .integer(let integer): sqlite3_bind_int64(handle, index, integer)
        // TEXT for a raw JWS, BLOB for a packed one.
        case .text(let text), .jws(.raw(let text)): bind(text, at: index)
        case .jws(.packed(let packed)): bind(packed.encoded, at: index)
        case .bytes(let bytes): bind(bytes, at: index)
        case .integers, .texts, .byteStrings: bind(value.json, at: index)
        case .null, .jws(.damaged), .array: sqlite3_bind_null(handle, index)
        }
    }

    private func bind(_ text: String, at index: CInt) {
        var text = text
        // With its length, so that a text may contain U+0000. An empty text may have no address, which would mean NULL.
        text.withUTF8 { bytes in
            let characters = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
            if let characters {
                sqlite3_bind_text(handle, index, characters, CInt(bytes.count), Self.copied)
            } else {
                sqlite3_bind_text(handle, index, "", 0, Self.copied)
            }
        }
    }

    private func bind(_ bytes: [UInt8], at index: CInt) {
        bytes.withUnsafeBytes { bytes in
            _ = sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), Self.copied)
        }
    }

    /// `SQLITE_TRANSIENT`, which is a macro that Swift does not import.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}
