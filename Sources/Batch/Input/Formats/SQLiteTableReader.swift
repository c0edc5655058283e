import Base
import Cryptography
import Foundation
import GRDB
import GRDBSQLite
package import Storage

/// Reads one table of a foreign SQLite database in the order of its rowids.
///
/// The connection is read-only. Each batch is a short transaction of its own, so that other processes can write in
/// between. A row that they insert after the last one read is delivered later; one inserted before it is not.
package struct SQLiteTableReader: Sendable {
    /// One row: the key, the id, the receipt and the account token.
    package struct Row: Sendable {
        /// Ascending. Pass the last one to ``rows(after:maximumRows:maximumBytes:largestValue:)`` to continue.
        package let key: Int64
        /// TEXT, or a BLOB as hexadecimal digits.
        let id: SourceText
        /// The value of the receipt column.
        package let value: StoredValue
        /// In the form of ``id``.
        let accountToken: SourceText
    }

    private let queue: DatabaseQueue
    private let tableSchema: TableSchema
    private let place: String

    /// - Parameter options: The names of the table and its columns.
    package init(path: String, options: SourceOptions) throws(StorageError) {
        guard FileManager.default.fileExists(atPath: path) else {
            throw StorageError(.notFound, at: path, "there is no such file")
        }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(Self.timeout)
        do throws(StorageError) {
            (queue, tableSchema) = try asStorageError(at: path) {
                let queue = try DatabaseQueue(path: path, configuration: configuration)
                return (queue, try queue.inDatabase { try TableSchema(options, in: $0, at: path) })
            }
        } catch {
            throw Self.explained(error, path: path)
        }
        place = "\(path), table \(tableSchema.table.text)"
    }

    /// Seconds to wait for a lock of another process.
    private static let timeout = 10.0.secondsAtTestSpeed(atLeast: 0.5)

    /// Returns the next rows in the order of their keys; empty if there are no more at present.
    ///
    /// - Parameters:
    ///   - key: the last key read; `nil` to start at the beginning.
    ///   - maximumBytes: no further row is read once the values have this many bytes.
    ///   - largestValue: maximum size of a value in bytes. A longer one is unreadable.
    package func rows(
        after key: Int64?, maximumRows: Int, maximumBytes: Int, largestValue: Int
    ) throws(StorageError) -> [Row] {
        let columns =
            [tableSchema.key, tableSchema.receipt.description]
            + [tableSchema.id, tableSchema.accountToken].map { name in
                name.map(\.description) ?? "NULL"
            }
        let sql = """
            SELECT \(columns.joined(separator: ", ")) FROM \(tableSchema.table)
            \(key == nil ? "" : "WHERE \(tableSchema.key) > ?") ORDER BY \(tableSchema.key) LIMIT \(max(maximumRows, 1))
            """
        return try asStorageError(at: place) {
            try queue.inDatabase { db in
                var rows: [Row] = []
                var bytes = 0
                try db.forEachRow(sql, key.map { [$0] } ?? [], while: { bytes < maximumBytes }) { found in
                    let row = try row(of: found.handle, largestValue: largestValue)
                    // In a damaged table a key can come again, and reading after it would never end.
                    if let last = rows.last?.key ?? key, row.key <= last {
                        throw StorageError(
                            .damaged, at: place, "the keys of the rows do not ascend; the file is damaged")
                    }
                    bytes += row.value.size
                    rows.append(row)
                }
                return rows
            }
        }
    }

    /// Returns the identity of the table, which is its largest key and a digest of its definition with the key and id
    /// of its first row; and this first key. Reads them from the database on every call, because the table can grow.
    package func fingerprint() throws(StorageError) -> (identity: SourceIdentity, firstKey: Int64?) {
        let id = tableSchema.id?.description ?? "NULL"
        return try asStorageError(at: place) {
            try queue.inDatabase { db in
                let first = try db.text(
                    """
                    SELECT \(tableSchema.key) || ' ' || coalesce(hex(\(id)), '') FROM \(tableSchema.table)
                    ORDER BY \(tableSchema.key) LIMIT 1
                    """)
                let last = try db.integer(
                    "SELECT CAST(max(\(tableSchema.key)) AS INTEGER) FROM \(tableSchema.table)")
                let beginning = "\(tableSchema.table.text)\n\(tableSchema.schema)\n\(first ?? "")"
                return (
                    SourceIdentity(kind: .table, size: last, digest: SHA.hex(Array(beginning.utf8), with: .sha256)),
                    first?.split(separator: " ").first.flatMap { Int64($0) }
                )
            }
        }
    }

    private func row(of statement: SQLiteStatement, largestValue: Int) throws(StorageError) -> Row {
        // In a table without rowids the primary key can contain text, which SQLite sorts after all numbers.
        guard sqlite3_column_type(statement, 0) == SQLITE_INTEGER else {
            throw StorageError(.unusableTable, at: place, "a primary key is not an integer")
        }
        return Row(
            key: sqlite3_column_int64(statement, 0), id: statement.text(at: 2),
            value: statement.value(at: 1, largest: largestValue), accountToken: statement.text(at: 3))
    }
}

extension SQLiteStatement {
    /// Returns a column as text: numbers as SQLite formats them, a BLOB as hexadecimal digits.
    fileprivate func text(at column: CInt) -> SourceText {
        let isBlob = sqlite3_column_type(self, column) == SQLITE_BLOB
        guard let bytes = isBlob ? blob(at: column) : utf8(at: column) else { return .missing }
        return SourceText(isBlob ? Hexadecimal.digits(of: bytes) : [UInt8](bytes))
    }

    fileprivate func value(at column: CInt, largest: Int) -> StoredValue {
        let bytes: UnsafeRawBufferPointer?
        switch sqlite3_column_type(self, column) {
        case SQLITE_TEXT: bytes = utf8(at: column)
        case SQLITE_BLOB: bytes = blob(at: column)
        case SQLITE_NULL: bytes = nil
        default: return .unreadable(code: "notText", reason: "a number instead of a receipt")
        }
        guard let bytes else { return .missing }
        guard bytes.count <= largest else { return .tooLarge("the value", limit: largest) }
        return StoredValue(bytes: [UInt8](bytes))
    }

    private func blob(at column: CInt) -> UnsafeRawBufferPointer? {
        guard let start = sqlite3_column_blob(self, column) else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(self, column)))
    }
}

extension SQLiteTableReader {
    /// Explains a permission error of a database in WAL mode. If SQLite may not create the `-shm` file in the folder,
    /// it only reports that it cannot open the database.
    package static func explained(_ error: StorageError, path: String) -> StorageError {
        guard error.code == .notPermitted, isInWriteAheadMode(path) else { return error }
        return StorageError(
            .notPermitted, at: path,
            "the database is in WAL mode, and to read it this user must be able to write \(path)-shm in the same directory "
                + "(\(error.reason)). Copy the file together with its -wal to a writable directory, or have its "
                + "owner run PRAGMA journal_mode = DELETE on it")
    }

    /// Returns whether the format version in the file's header is 2, which means WAL mode.
    private static func isInWriteAheadMode(_ path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path), let header = try? file.read(upToCount: 20) else {
            return false
        }
        return header.starts(with: "SQLite format 3\0".utf8) && header.count == 20 && header.last == 2
    }
}
