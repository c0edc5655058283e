package import Foundation
package import GRDB
import GRDBSQLite

/// A value that is not of the type that this program writes to its column, or is missing. SQLite accepts any type in
/// any column and has no checksums, so every value that is read may be one.
package struct DamagedValue: Error, Sendable, Hashable {
    /// Table and column, or the expression of the query. Example: `customer.askedAt`.
    package let column: String
}

/// A row of a query. Columns are read by their index, from 0. A column of another type is a ``DamagedValue``.
///
/// The only place that reads GRDB's rows: its subscripts end the process for a value of another type.
package struct SQLiteRow {
    private let row: Row
    private let statement: Statement

    fileprivate init(_ row: Row, of statement: Statement) {
        self.row = row
        self.statement = statement
    }

    package func value(_ column: Int) -> DatabaseValue { row[column] }

    package func isNull(_ column: Int) -> Bool { value(column).isNull }

    package func integer(_ column: Int) throws(DamagedValue) -> Int64 {
        try present(column, optionalInteger(column))
    }

    /// See ``StoredNumber/integers``.
    package func optionalInteger(_ column: Int) throws(DamagedValue) -> Int64? {
        guard let number = try number(column) else { return nil }
        guard StoredNumber.integers.contains(number) else { throw damage(column) }
        return number
    }

    /// The value of an INTEGER, or of a REAL without a fraction, which a sum can be.
    package func number(_ column: Int) throws(DamagedValue) -> Int64? {
        switch value(column).storage {
        case .null: return nil
        case .int64(let integer): return integer
        case .double(let number): return try present(column, Int64(exactly: number))
        case .string, .blob: throw damage(column)
        }
    }

    package func boolean(_ column: Int) throws(DamagedValue) -> Bool { try integer(column) != 0 }

    package func text(_ column: Int) throws(DamagedValue) -> String { try present(column, optionalText(column)) }

    package func optionalText(_ column: Int) throws(DamagedValue) -> String? {
        switch value(column).storage {
        case .null: return nil
        case .string(let text): return text
        case .int64, .double, .blob: throw damage(column)
        }
    }

    package func bytes(_ column: Int) throws(DamagedValue) -> [UInt8] { try present(column, optionalBytes(column)) }

    package func optionalBytes(_ column: Int) throws(DamagedValue) -> [UInt8]? {
        try optionalData(column).map { [UInt8]($0) }
    }

    package func optionalData(_ column: Int) throws(DamagedValue) -> Data? {
        switch value(column).storage {
        case .null: return nil
        case .blob(let data): return data
        case .int64, .double, .string: throw damage(column)
        }
    }

    /// The bytes of a TEXT or BLOB, without a copy; `nil` for NULL. Only in ``GRDB/Database/forEachRow(_:_:while:_:)``,
    /// and valid until the next row.
    package func utf8(_ column: Int) -> UnsafeRawBufferPointer? { statement.sqliteStatement.utf8(at: CInt(column)) }

    /// The handle of the statement at this row. Only in ``GRDB/Database/forEachRow(_:_:while:_:)``.
    package var handle: SQLiteStatement { statement.sqliteStatement }

    package func damage(_ column: Int) -> DamagedValue {
        let (handle, index) = (statement.sqliteStatement, CInt(column))
        guard let table = sqlite3_column_table_name(handle, index), let name = sqlite3_column_origin_name(handle, index)
        else { return DamagedValue(column: sqlite3_column_name(handle, index).map { String(cString: $0) } ?? "?") }
        return DamagedValue(column: "\(String(cString: table)).\(String(cString: name))")
    }

    private func present<Value>(_ column: Int, _ value: Value?) throws(DamagedValue) -> Value {
        guard let value else { throw damage(column) }
        return value
    }
}

/// Queries. The connection keeps the prepared statements.
extension Database {
    package func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [SQLiteRow] {
        let statement = try cachedStatement(sql: sql)
        return try Row.fetchAll(statement, arguments: arguments).map { SQLiteRow($0, of: statement) }
    }

    package func row(_ sql: String, _ arguments: StatementArguments = []) throws -> SQLiteRow? {
        let statement = try cachedStatement(sql: sql)
        return try Row.fetchOne(statement, arguments: arguments).map { SQLiteRow($0, of: statement) }
    }

    /// Passes each row to `body`, which must not keep it, while it is wanted. Only one row is in memory.
    package func forEachRow(
        _ sql: String, _ arguments: StatementArguments = [], while isWanted: () -> Bool = { true },
        _ body: (SQLiteRow) throws -> Void
    ) throws {
        let statement = try cachedStatement(sql: sql)
        let rows = try Row.fetchCursor(statement, arguments: arguments)
        while isWanted(), let row = try rows.next() { try body(SQLiteRow(row, of: statement)) }
    }

    /// Returns the first column of the first row; `nil` if there is no row, and for NULL.
    package func integer(_ sql: String, _ arguments: StatementArguments = []) throws -> Int64? {
        try row(sql, arguments)?.optionalInteger(0)
    }

    package func text(_ sql: String, _ arguments: StatementArguments = []) throws -> String? {
        try row(sql, arguments)?.optionalText(0)
    }

    package func integers(_ sql: String, _ arguments: StatementArguments = []) throws -> [Int64] {
        try rows(sql, arguments).map { try $0.integer(0) }
    }

    package func texts(_ sql: String, _ arguments: StatementArguments = []) throws -> [String] {
        try rows(sql, arguments).map { try $0.text(0) }
    }

    package func exists(_ sql: String, _ arguments: StatementArguments = []) throws -> Bool {
        try row(sql, arguments) != nil
    }
}
