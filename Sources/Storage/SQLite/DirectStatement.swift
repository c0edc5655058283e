import GRDB
import GRDBSQLite

/// A prepared statement that is bound and run without GRDB's intermediate values.
///
/// GRDB boxes each argument and each column of a row, which took a quarter of the time of a notification's statements.
struct DirectStatement {
    /// Keeps the handle valid.
    private let owner: Statement
    private let handle: SQLiteStatement

    init(_ statement: Statement) {
        owner = statement
        handle = statement.sqliteStatement
    }

    /// Binds all values in order and runs a statement that returns no rows. Returns the number of changed rows.
    @discardableResult
    func run(_ values: [SQLValue]) throws -> Int {
        _ = try firstRow(values) { _ in }
        return Int(sqlite3_changes(sqlite3_db_handle(handle)))
    }

    /// Binds the values in order, runs the statement and reads the first row. Returns `nil` if the result is empty.
    func firstRow<Result>(_ values: [SQLValue], _ read: (Columns) -> Result) throws -> Result? {
        // A statement that failed before returns its error again when it is reset.
        sqlite3_reset(handle)
        for (index, value) in zip(CInt(1)..., values) { bind(value, at: index) }
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW:
            let result = read(Columns(handle: handle))
            sqlite3_reset(handle)
            return result
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return nil
        default:
            let message = String(cString: sqlite3_errmsg(sqlite3_db_handle(handle)))
            sqlite3_reset(handle)
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
        }
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
        // No statement of this kind has arrays.
        case .null, .jws(.damaged), .integers, .texts, .byteStrings, .array: sqlite3_bind_null(handle, index)
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

    /// The columns of the current row.
    struct Columns {
        fileprivate let handle: SQLiteStatement

        /// Returns an integer; `nil` for NULL, and for a damaged value, which is written again.
        func integer(_ column: CInt) -> Int64? {
            sqlite3_column_type(handle, column) == SQLITE_INTEGER ? sqlite3_column_int64(handle, column) : nil
        }
    }
}
