package import ReceiptBridgeBase

/// A statement and the values of its parameters `$1`, `$2`, …, which both engines can run.
///
///     SQLStatement("SELECT text FROM note WHERE id = $1", .integer(7))
package struct SQLStatement: Sendable {
    package let sql: String
    package let values: [SQLValue]

    package init(_ sql: String, _ values: SQLValue?...) { self.init(sql, values) }

    /// - Parameter values: `nil` is NULL.
    package init(_ sql: String, _ values: [SQLValue?]) {
        self.sql = sql
        self.values = values.map { $0 ?? .null }
    }
}

/// The value of a statement's parameter.
package enum SQLValue: Sendable, Hashable {
    case null
    /// `boolean`, in SQLite 0 or 1
    case boolean(Bool)
    /// `bigint`
    case integer(Int64)
    case text(String)
    /// `bytea`, in SQLite a BLOB
    case bytes([UInt8])
    /// `bigint[]`, in SQLite a JSON array. See ``SQLDialect/isAny(_:_:)``.
    case integers([Int64])
    /// `text[]`, in SQLite a JSON array.
    case texts([String])
    /// `bytea[]`, in SQLite a JSON array of hexadecimal texts. See ``SQLDialect/isAnyBytes(_:_:)``.
    case byteStrings([[UInt8]])
    /// A JWS: `bytea`, in SQLite TEXT or a BLOB.
    case jws(EncodedJWS)
    /// An array of values of one column, or null. Only for PostgreSQL, see ``SQLDialect/insert(_:into:_:_:)``.
    case array(StoreTable.ColumnType, [SQLValue])
}

extension SQLValue {
    /// A time in milliseconds, or null.
    package init(_ time: Timestamp?) { self.init(time?.milliseconds) }
    package init(_ integer: Int64?) { self = integer.map { .integer($0) } ?? .null }
    package init(_ text: String?) { self = text.map { .text($0) } ?? .null }
}
