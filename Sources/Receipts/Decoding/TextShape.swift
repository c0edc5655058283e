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

/// Another store whose purchase was submitted instead of a receipt of the App Store.
enum OtherStore: String {
    case googlePlay = "a purchase of Google Play"
    case amazon = "a receipt of the Amazon Appstore"
    case huawei = "a purchase of Huawei AppGallery"

    var error: ReceiptDecodingError {
        ReceiptDecodingError(.notAReceipt, at: "text", "\(rawValue) instead of a receipt")
    }
}

/// Members of JSON that occur in purchases of other stores.
///
/// - Google Play: `purchaseToken` with `packageName`, or an `orderId` that begins with `GPA.`
///   (https://developer.android.com/reference/com/android/billingclient/api/Purchase).
/// - Amazon: `receiptId`
///   (https://developer.amazon.com/docs/in-app-purchasing/iap-rvs-for-android-apps.html).
/// - Huawei: `InAppPurchaseData`, or in it `purchaseToken` with `applicationId`
///   (https://developer.huawei.com/consumer/en/doc/HMSCore-References/json-inapppurchasedata-0000001050986125).
///
/// StoreKit libraries have members of the same names, so one of them alone proves nothing.
struct StoreMarks: OptionSet {
    let rawValue: UInt8

    static let token = StoreMarks(rawValue: 1)
    static let package = StoreMarks(rawValue: 2)
    static let order = StoreMarks(rawValue: 4)
    static let receiptId = StoreMarks(rawValue: 8)
    static let purchaseData = StoreMarks(rawValue: 16)
    static let application = StoreMarks(rawValue: 32)

    /// The names in small letters, without separators.
    private static let names: [String: StoreMarks] = [
        "purchasetoken": .token, "packagename": .package, "orderid": .order, "receiptid": .receiptId,
        "inapppurchasedata": .purchaseData, "applicationid": .application,
    ]
    /// Amazon's ids have more than this; an id of a row in a database has fewer.
    private static let minimumReceiptId = 32

    /// The store, if the members are those of one.
    var store: OtherStore? {
        if contains(.purchaseData) || contains([.token, .application]) { return .huawei }
        if contains(.receiptId) { return .amazon }
        return contains(.order) || contains([.token, .package]) ? .googlePlay : nil
    }

    /// Notes a member whose value is a text or a number.
    mutating func note(_ name: JSONString, _ value: JSONString, in bytes: Span<UInt8>) {
        guard (7...24).contains(name.range.count) else { return }
        let letters = name.unescaped(in: bytes).filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }
        guard let mark = Self.names[String(decoding: letters.map { $0 | 0x20 }, as: UTF8.self)] else { return }
        switch mark {
        case .order where !value.unescaped(in: bytes).starts(with: "GPA.".utf8): return
        case .receiptId where value.range.count < Self.minimumReceiptId: return
        default: insert(mark)
        }
    }
}
