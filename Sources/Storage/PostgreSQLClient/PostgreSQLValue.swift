/// A value of a statement's parameter or of a column. It is transferred in PostgreSQL's binary format.
package enum PostgreSQLValue: Sendable, Hashable {
    case null
    case boolean(Bool)
    /// `bigint`
    case integer(Int64)
    /// `text`. It must not contain U+0000, which PostgreSQL's text cannot hold.
    case text(String)
    /// `bytea`
    case bytes([UInt8])
    /// `bigint[]`
    case integers([Int64])
    /// `text[]`
    case texts([String])
    /// `bytea[]`
    case byteStrings([[UInt8]])
    /// An array of a type. Each value is of that type, or null.
    case array(ElementType, [PostgreSQLValue])

    package enum ElementType: Sendable, Hashable {
        case boolean, integer, text, bytes
    }
}

extension PostgreSQLValue {
    /// A `bigint`, or `null`.
    package init(_ integer: Int64?) { self = integer.map { .integer($0) } ?? .null }
    package init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    package init(_ bytes: [UInt8]?) { self = bytes.map { .bytes($0) } ?? .null }
}

extension PostgreSQLValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral
{
    package init(stringLiteral text: String) { self = .text(text) }
    package init(integerLiteral integer: Int64) { self = .integer(integer) }
    package init(booleanLiteral boolean: Bool) { self = .boolean(boolean) }
    package init(nilLiteral: ()) { self = .null }
}
