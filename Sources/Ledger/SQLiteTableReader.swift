import Foundation
import GRDB
import GRDBSQLite

/// One table of somebody else's SQLite database, read in the order of its rowids.
///
/// The connection is read-only. Each batch is a transaction of its own and as short as its reading, so that others can
/// write in between; a row they put behind the last one read is delivered in its turn, one put before it is not.
package struct SQLiteTableReader: Sendable {
    /// One row.
    package struct Row: Sendable {
        /// Ascending; where to go on after.
        package let key: Int64
        /// A text, which may be no UTF-8, or a BLOB's hexadecimal digits; nil for NULL and the empty text.
        package let id: [UInt8]?
        package let value: Value
        package let accountToken: [UInt8]?
    }

    /// What stands where a receipt is expected.
    package enum Value: Sendable, Hashable {
        /// TEXT in UTF-8, or a BLOB; not empty.
        case bytes([UInt8])
        /// NULL, or empty.
        case missing
        /// A number.
        case number
        /// More bytes than asked for.
        case tooLarge
    }

    /// What tells whether this is still the table that a run began with.
    package struct TableFingerprint: Sendable, Hashable {
        /// Its name and the statement that made it.
        package let table: String
        package let schema: String
        /// Of the first row: key and id.
        package let first: String?
        /// The largest key; nil where there is no row.
        package let lastKey: Int64?
    }

    private let queue: DatabaseQueue
    private let layout: TableSchema
    private let place: String

    /// - Parameters:
    ///   - table: nil for the only table, or `receipts` where there are several.
    ///   - idColumn: nil for `id`, where there is such a column.
    package init(
        path: String, table: String?, receiptColumn: String, idColumn: String?, accountTokenColumn: String?
    ) throws(StorageError) {
        guard FileManager.default.fileExists(atPath: path) else {
            throw StorageError(.notFound, at: path, "there is no such file")
        }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(Self.timeout)
        let wish = TableSchema.TableSelection(
            table: table, receiptColumn: receiptColumn, idColumn: idColumn, accountTokenColumn: accountTokenColumn)
        do throws(StorageError) {
            (queue, layout) = try asLedgerError(at: path) {
                let queue = try DatabaseQueue(path: path, configuration: configuration)
                return (queue, try queue.inDatabase { try TableSchema(wish, in: $0, at: path) })
            }
        } catch {
            throw Self.explained(error, path: path)
        }
        place = "\(path), table \(layout.table.text)"
    }

    /// Seconds to wait for somebody who writes.
    private static let timeout: TimeInterval = 10

    /// The next rows, in the order of their keys; none where there are no more for now.
    ///
    /// - Parameters:
    ///   - key: the last one read; nil to begin.
    ///   - maximumBytes: no further row is begun behind so many bytes of values.
    ///   - largestValue: what is longer is ``Value/tooLarge``.
    package func rows(
        after key: Int64?, maximumRows: Int, maximumBytes: Int, largestValue: Int
    ) throws(StorageError) -> [Row] {
        let columns =
            [layout.key, layout.receipt.description]
            + [layout.id, layout.accountToken].map { name in
                name.map(\.description) ?? "NULL"
            }
        let sql = """
            SELECT \(columns.joined(separator: ", ")) FROM \(layout.table)
            \(key == nil ? "" : "WHERE \(layout.key) > ?") ORDER BY \(layout.key) LIMIT \(max(maximumRows, 1))
            """
        return try asLedgerError(at: place) {
            try queue.inDatabase { db in
                let statement = try db.cachedStatement(sql: sql)
                var rows: [Row] = []
                var bytes = 0
                let steps = try GRDB.Row.fetchCursor(statement, arguments: key.map { [$0] } ?? [])
                while bytes < maximumBytes, try steps.next() != nil {
                    let row = try row(of: statement.sqliteStatement, largestValue: largestValue)
                    if case .bytes(let value) = row.value { bytes += value.count }
                    rows.append(row)
                }
                return rows
            }
        }
    }

    /// Looked up anew with every call: a table can grow.
    package func landmarks() throws(StorageError) -> TableFingerprint {
        let id = layout.id?.description ?? "NULL"
        return try asLedgerError(at: place) {
            try queue.inDatabase { db in
                let first = try GRDB.Row.fetchOne(
                    db,
                    sql: """
                        SELECT \(layout.key) || ' ' || coalesce(hex(\(id)), '') FROM \(layout.table)
                        ORDER BY \(layout.key) LIMIT 1
                        """)
                let last = try Int64.fetchOne(db, sql: "SELECT max(\(layout.key)) FROM \(layout.table)")
                return TableFingerprint(
                    table: layout.table.text, schema: layout.schema, first: first?[0], lastKey: last)
            }
        }
    }

    private func row(of statement: SQLiteStatement, largestValue: Int) throws(StorageError) -> Row {
        // Without rowids the primary key can hold text; it would come behind every number.
        guard sqlite3_column_type(statement, 0) == SQLITE_INTEGER else {
            throw StorageError(.unusableTable, at: place, "a primary key is no integer")
        }
        return Row(
            key: sqlite3_column_int64(statement, 0), id: statement.text(at: 2),
            value: statement.value(at: 1, largest: largestValue), accountToken: statement.text(at: 3))
    }
}

extension SQLiteStatement {
    /// Numbers as SQLite writes them, a BLOB in hexadecimal digits; nil for NULL and the empty text.
    fileprivate func text(at column: CInt) -> [UInt8]? {
        let isBlob = sqlite3_column_type(self, column) == SQLITE_BLOB
        guard let bytes = isBlob ? blob(at: column) : utf8(at: column), !bytes.isEmpty else { return nil }
        guard isBlob else { return [UInt8](bytes) }
        let digits = Array("0123456789abcdef".utf8)
        return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    fileprivate func value(at column: CInt, largest: Int) -> SQLiteTableReader.Value {
        let bytes: UnsafeRawBufferPointer?
        switch sqlite3_column_type(self, column) {
        case SQLITE_TEXT: bytes = utf8(at: column)
        case SQLITE_BLOB: bytes = blob(at: column)
        case SQLITE_NULL: bytes = nil
        default: return .number
        }
        guard let bytes, !bytes.isEmpty else { return .missing }
        return bytes.count > largest ? .tooLarge : .bytes([UInt8](bytes))
    }

    private func blob(at column: CInt) -> UnsafeRawBufferPointer? {
        guard let start = sqlite3_column_blob(self, column) else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(self, column)))
    }
}
