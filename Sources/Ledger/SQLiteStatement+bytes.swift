import GRDB
import GRDBSQLite

extension SQLiteStatement {
    /// Binds TEXT without a copy, including zero bytes. The memory must stay valid until the statement has run.
    func bind(text: UnsafeRawBufferPointer, at index: CInt) {
        // SQLite would bind NULL for a null pointer.
        let start = text.baseAddress ?? UnsafeRawPointer(emptyText.utf8Start)
        sqlite3_bind_text64(
            self, index, start.assumingMemoryBound(to: CChar.self), UInt64(text.count), nil, UInt8(SQLITE_UTF8))
    }

    /// Returns a column's text in UTF-8, whatever the encoding of the database; `nil` for NULL. Valid until the next
    /// step.
    func utf8(at column: CInt) -> UnsafeRawBufferPointer? {
        guard let start = sqlite3_column_text(self, column) else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(self, column)))
    }

    /// Runs a statement that returns no rows. Returns the number of changed rows.
    func run() throws(DatabaseError) -> Int {
        let connection = sqlite3_db_handle(self)
        let code = sqlite3_step(self)
        let message = code == SQLITE_DONE ? "" : String(cString: sqlite3_errmsg(connection))
        sqlite3_reset(self)
        sqlite3_clear_bindings(self)
        guard code == SQLITE_DONE else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
        }
        return Int(sqlite3_changes(connection))
    }
}

private let emptyText: StaticString = ""
