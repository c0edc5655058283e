import ReceiptBridgeBase

/// What a text is that is certainly no receipt, by its form alone. The raw value names it in the reason of a refusal.
package enum TextShape: String {
    case identifier = "a number, which may be a transaction id,"
    case uuid = "a UUID"
    case nothing = "the name of an empty value, such as null,"
    case markup = "XML or HTML"
    case address = "a path or an address"
    case googleOrder = "an order id of Google Play"
    case googleToken = "a purchase token of Google Play"
    case amazonReceipt = "a receipt id of the Amazon Appstore"

    /// Names of an empty value in SQL, JavaScript, Python, pandas, Swift, Objective-C, PHP and spreadsheets, in lower
    /// case. `\N` is that of MySQL and PostgreSQL.
    private static let emptyValues: Set = [
        "null", "\\n", "nil", "none", "undefined", "(null)", "nan", "n/a", "#n/a", "false", "[]", "{}",
    ]

    /// Whether a text is blank, or only the name of an empty value.
    package static func isNothing(_ text: [UInt8]) -> Bool {
        // Anything longer is not a padded name.
        guard text.count <= 64 else { return false }
        let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard let first = text.firstIndex(where: { !isSpace($0) }), let last = text.lastIndex(where: { !isSpace($0) })
        else { return true }
        return emptyValues.contains(String(decoding: text[first...last], as: UTF8.self).lowercased())
    }

    private static let prefixes: [(String, TextShape)] = [
        ("<?xml", .markup), ("<!doctype", .markup), ("<html", .markup), ("<plist", .markup), ("file:", .address),
        ("http:", .address), ("https:", .address), ("/var/", .address), ("/private/", .address), ("gpa.", .googleOrder),
    ]

    /// Returns `nil` for a text of any other form.
    init?(_ text: [UInt8]) {
        let head = String(decoding: text.prefix(64), as: UTF8.self).lowercased()
        if TransactionIdentifier(rawValue: head) != nil {
            self = .identifier
        } else if head == "true" || Self.emptyValues.contains(head) {
            self = .nothing
        } else if text.count == 36, head.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12] {
            self = .uuid
        } else if let found = Self.prefixes.first(where: { head.hasPrefix($0.0) }) {
            self = found.1
        } else if text.count < Self.maximumToken, text[...].start(of: ".AO-J1O".utf8) != nil {
            self = .googleToken
        } else if text.count < Self.maximumToken, Self.endsInNumbers(text) {
            self = .amazonReceipt
        } else {
            return nil
        }
    }

    /// Maximum length of a token of another store.
    private static let maximumToken = 4_096

    /// Returns whether the text is base64 and ends in two numbers after colons, as in `…Q=:3:11`.
    private static func endsInNumbers(_ text: [UInt8]) -> Bool {
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count >= 32 else { return false }
        return parts.dropFirst().allSatisfy { part in
            (1...3).contains(part.count) && part.allSatisfy { (0x30...0x39).contains($0) }
        }
    }
}
