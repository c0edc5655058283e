package import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// The content of an App Receipt (PKCS#7), with one property for each known attribute.
///
/// A property is `nil` if the attribute is absent or its text is empty; no value is invented. The numbers and
/// meanings of the attributes are those of Apple's "Receipt Fields". Attributes that Apple does not document were
/// identified by comparing their values with Apple's verifyReceipt responses.
package struct AppReceipt: Sendable, Hashable {
    /// Attribute 0: `Production`, `ProductionSandbox`, `ProductionVPP`, `ProductionVPPSandbox` or `Xcode`.
    package var receiptType: String?
    /// Attribute 1: the app's Apple ID (`adam_id` and `app_item_id` in verifyReceipt responses); 0 in the sandbox.
    package var appAppleId: Int64?
    /// Attribute 2, for example `com.example.app`.
    package var bundleId: String?
    /// Attribute 3: `CFBundleShortVersionString` on macOS, `CFBundleVersion` on iOS.
    package var applicationVersion: String?
    /// Attribute 4: an opaque value, one of the inputs of the device hash. It has 16 bytes, in receipts from Xcode 8
    /// bytes.
    package var opaqueValue: [UInt8]? {
        get { opaqueBytes?.copied }
        set { opaqueBytes = newValue.map { ReceiptBytes($0) } }
    }
    /// Attribute 5: the device hash, which is SHA-1 over the device id, attribute 4 and attribute 2. It cannot be
    /// verified on a server, because the device id is unknown there.
    package var sha1Hash: [UInt8]? {
        get { sha1Bytes?.copied }
        set { sha1Bytes = newValue.map { ReceiptBytes($0) } }
    }
    /// Attribute 8: when the device received the receipt; empty in the sandbox.
    package var deviceReceiptDate: Timestamp?
    /// Attribute 10: the age rating, for example `4+`.
    package var ageRating: String?
    /// Attribute 12: when the receipt was created. The signer's certificate chain is verified at this time.
    package var receiptCreationDate: Timestamp?
    /// Attribute 13: the client's system version, packed as MMmmpp.
    package var clientSystemVersion: Int64?
    /// Attribute 15; 0 in the sandbox.
    package var downloadId: Int64?
    /// Attribute 16; 0 in the sandbox.
    package var versionExternalIdentifier: Int64?
    /// Attribute 18: when the app was first purchased or downloaded.
    package var originalPurchaseDate: Timestamp?
    /// Attribute 19: the app version of the first purchase or download.
    package var originalApplicationVersion: String?
    /// Attribute 21: when the receipt expires; only receipts of the Volume Purchase Program have it.
    package var expirationDate: Timestamp?
    /// Attribute 25: 2 for macOS, 3 for iOS and watchOS.
    package var platform: Int64?
    /// One element for each attribute 17, in the order of the receipt. Apple's responses list `in_app` in the same
    /// order.
    package var purchases: [InAppPurchase] = []
    /// The attributes that have no property above, with their raw values.
    package var unknownAttributes: [UnknownAttribute] {
        get { unknown.values }
        set { unknown = .values(newValue) }
    }

    var opaqueBytes: ReceiptBytes?
    var sha1Bytes: ReceiptBytes?
    /// ``unknownAttributes``, or where they are in the receipt.
    var unknown = UnknownAttributes.values([])

    package init() {}

    /// The environment according to attribute 0; `nil` if the receipt type is unknown.
    package var environment: AppStoreEnvironment? {
        switch receiptType {
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
        case "Xcode": .xcode
        default: nil
        }
    }
}

/// The product type of attribute 1707. It is not an enum, so that a number unknown today is preserved.
package struct ReceiptProductType: RawRepresentable, Sendable, Hashable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// A product that is bought once, for example a level of a game.
    package static let nonConsumable = ReceiptProductType(rawValue: 0)
    /// A product that can be bought repeatedly. It is in receipts only until the app finishes its transaction.
    package static let consumable = ReceiptProductType(rawValue: 1)
    package static let nonRenewing = ReceiptProductType(rawValue: 2)
    package static let autoRenewable = ReceiptProductType(rawValue: 3)
    /// A subscription without a price, from the time of Newsstand.
    package static let freeSubscription = ReceiptProductType(rawValue: 4)
}

/// A value of a receipt: a range of the receipt's bytes, so that it is copied only where it is read.
struct ReceiptBytes: Sendable, Hashable {
    private let bytes: Redacted<[UInt8]>
    private let range: Range<Int>

    /// - Parameter range: within `bytes`.
    init(_ range: Range<Int>, of bytes: Redacted<[UInt8]>) {
        self.bytes = bytes
        self.range = range
    }

    init(_ bytes: [UInt8]) { self.init(bytes.indices, of: Redacted(bytes)) }

    var copied: [UInt8] { Array(bytes.reveal()[range]) }

    static func == (left: Self, right: Self) -> Bool { left.copied == right.copied }
    func hash(into hasher: inout Hasher) { hasher.combine(copied) }
}

/// An attribute without a published meaning.
package struct UnknownAttribute: Sendable, Hashable {
    /// The attribute number, for example 1721.
    package let type: Int64
    /// The bytes of the attribute's value, including the tag and length of the element inside.
    package let value: [UInt8]

    package init(type: Int64, value: [UInt8]) {
        self.type = type
        self.value = value
    }
}

/// The attributes without a published meaning, which are read from the receipt's bytes only where they are needed.
enum UnknownAttributes: Sendable, Hashable {
    case values([UnknownAttribute])
    /// Those among the attributes of a range, which was read once without an error.
    case unread(ReceiptText, of: Redacted<[UInt8]>)

    var values: [UnknownAttribute] {
        switch self {
        case .values(let values): values
        case .unread(let range, let bytes):
            (try? UnknownAttribute.read(range, of: bytes, except: AppReceipt.knownTypes)) ?? []
        }
    }

    static func == (left: Self, right: Self) -> Bool { left.values == right.values }
    func hash(into hasher: inout Hasher) { hasher.combine(values) }
}

extension UnknownAttribute {
    /// Reads the attributes of a range that have a value and an unknown type.
    static func read(
        _ range: ReceiptText, of bytes: Redacted<[UInt8]>, except knownTypes: Set<Int64>
    ) throws(BERError) -> [UnknownAttribute] {
        guard let range = range.range else { return [] }
        let bytes = bytes.reveal()
        var cursor = BERCursor(range)
        var unknown: [UnknownAttribute] = []
        while !cursor.isAtEnd {
            let attribute = try ReceiptAttribute(next: &cursor, in: bytes.span)
            guard !knownTypes.contains(attribute.type), !attribute.isEmptyText(in: bytes.span) else { continue }
            unknown.append(UnknownAttribute(type: attribute.type, value: bytes.span.copy(attribute.value.content)))
        }
        return unknown
    }
}
