import Base

/// What a text is that is certainly no receipt, by its form alone. The raw value names it in the reason of a refusal.
enum TextShape: String {
    case identifier = "a number, which may be a transaction id,"
    case uuid = "a UUID"
    case nothing = "the name of an empty value, such as null,"
    case markup = "XML or HTML"
    case address = "a path or an address"
    case googleOrder = "an order id of Google Play"

    /// Names of an empty value in JavaScript, Python, SQL, Swift and Objective-C.
    private static let emptyValues = ["null", "nil", "none", "undefined", "(null)", "nan", "n/a", "true", "false"]
    private static let prefixes: [(String, TextShape)] = [
        ("<?xml", .markup), ("<!doctype", .markup), ("<html", .markup), ("<plist", .markup), ("file:", .address),
        ("http:", .address), ("https:", .address), ("/var/", .address), ("/private/", .address), ("gpa.", .googleOrder),
    ]

    /// Returns `nil` for a text of any other form.
    init?(_ text: [UInt8]) {
        let head = String(decoding: text.prefix(64), as: UTF8.self).lowercased()
        if TransactionIdentifier(rawValue: head) != nil {
            self = .identifier
        } else if Self.emptyValues.contains(head) {
            self = .nothing
        } else if text.count == 36, head.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12] {
            self = .uuid
        } else if let found = Self.prefixes.first(where: { head.hasPrefix($0.0) }) {
            self = found.1
        } else {
            return nil
        }
    }
}
