package import GRDB
import GRDBSQLite

extension Database {
    /// The value of `PRAGMA synchronous` at which a commit waits until the data is on disk: `FULL`.
    package static let durable = 2

    /// Makes every later commit on this connection wait until the data is on disk.
    ///
    /// GRDB sets `NORMAL` when it turns on WAL, after `prepareDatabase` ran, and in WAL mode `NORMAL` does not wait for
    /// the disk. So call this on an open connection, outside a transaction. Throws `notDurable` if SQLite does not
    /// accept the setting.
    package func requireDurableCommits(at path: String) throws {
        try execute(sql: "PRAGMA synchronous = FULL")
        let level = try synchronousLevel()
        guard level == Self.durable else {
            throw StorageError(
                .notDurable, at: path,
                "SQLite keeps PRAGMA synchronous at \(level); commits would not wait for the disk")
        }
    }

    package func synchronousLevel() throws -> Int { Int(try integer("PRAGMA synchronous") ?? 0) }
}

extension SQLiteStatement {
    /// Binds TEXT without a copy, including zero bytes. The memory must stay valid until the statement has run.
    package func bind(text: UnsafeRawBufferPointer, at index: CInt) {
        // SQLite would bind NULL for a null pointer.
        let start = text.baseAddress ?? UnsafeRawPointer(emptyText.utf8Start)
        sqlite3_bind_text64(
            self, index, start.assumingMemoryBound(to: CChar.self), UInt64(text.count), nil, UInt8(SQLITE_UTF8))
    }

    /// Returns a column's text in UTF-8, whatever the encoding of the database; `nil` for NULL. Valid until the next
    /// step.
    package func utf8(at column: CInt) -> UnsafeRawBufferPointer? {
        guard let start = sqlite3_column_text(self, column) else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(self, column)))
    }

    /// Runs a statement that returns no rows. Returns the number of changed rows.
    package func run() throws(DatabaseError) -> Int {
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
