/// The name of a table or column of a SQLite database, quoted for SQL.
///
/// Quotes inside the name are doubled, so that any name is safe. For example, `a"b` becomes `"a""b"`.
package struct SQLName: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    package init(_ text: String) { self.text = text }

    package var description: String {
        "\"\(text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
    }

    /// Returns whether SQLite treats both names as equal: ASCII letters are compared case-insensitively.
    package static func areSame(_ one: String, _ other: String) -> Bool {
        one.utf8.count == other.utf8.count && zip(one.utf8, other.utf8).allSatisfy { folded($0) == folded($1) }
    }

    private static func folded(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte + 0x20
        default: byte
        }
    }
}
