import ReceiptBridgeBase

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
