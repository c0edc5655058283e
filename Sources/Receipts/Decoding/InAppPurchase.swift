package import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// One purchase of an App Receipt: the attributes inside one attribute 17.
///
/// Its texts and its unknown attributes are ranges of the receipt's bytes, so that decoding a receipt with hundreds of
/// purchases allocates nothing for each of them.
package struct InAppPurchase: Sendable {
    /// Attribute 1701: the number of items purchased.
    package var quantity: Int64?
    /// Attribute 1704.
    package var purchaseDate: Timestamp?
    /// Attribute 1706; it can be later than attribute 1704.
    package var originalPurchaseDate: Timestamp?
    /// Attribute 1707; not in Apple's verifyReceipt responses.
    package var productType: ReceiptProductType?
    /// Attribute 1708; only auto-renewable subscriptions have it.
    package var expiresDate: Timestamp?
    /// Attribute 1710: the product's Apple ID, 0 in the sandbox; not in Apple's verifyReceipt responses.
    package var productAppleId: Int64?
    /// Attribute 1711; 0 if there is none.
    package var webOrderLineItemId: Int64?
    /// Attribute 1712: when the purchase was refunded or revoked.
    package var cancellationDate: Timestamp?
    /// Attribute 1720: the reason of a refund, 0 or 1. Genuine receipts of 2018 to 2023 have it exactly if they have
    /// attribute 1712.
    package var cancellationReason: Int64?
    /// Attribute 1713: 1 if the period is a free trial, otherwise 0.
    package var isTrialPeriod: Int64?
    /// Attribute 1719: 1 if the period has an introductory price, otherwise 0; absent in receipts created before
    /// December 2017. In genuine receipts it is 0 for free trials bought up to 2024-08-17, and 1 for those since
    /// 2024-09-03.
    package var isInIntroOfferPeriod: Int64?
    /// Attribute 1722: 0 for `PURCHASED`, 1 for `FAMILY_SHARED`; absent in receipts created before about 2021.
    package var ownershipType: Int64?

    /// The bytes that contain the texts: those of the receipt, followed by texts that were set later.
    package internal(set) var bytes: Redacted<[UInt8]>
    /// A text in ``bytes``, valid UTF-8, as the three that follow.
    package internal(set) var productIdText = ReceiptText.none
    package internal(set) var transactionIdText = ReceiptText.none
    package internal(set) var originalTransactionIdText = ReceiptText.none
    package internal(set) var promotionalOfferIdText = ReceiptText.none
    /// The attributes of the purchase in ``bytes``; they were read once without an error.
    var attributes = ReceiptText.none
    private var replacedAttributes: [UnknownAttribute]?

    package init() { self.init(of: Redacted([])) }

    /// A purchase without attributes, for the ranges of these bytes.
    init(of bytes: Redacted<[UInt8]>) { self.bytes = bytes }

    /// Whether the purchase is an auto-renewable subscription. Only those have an expiry date.
    package var isAutoRenewable: Bool { expiresDate != nil }
}

/// A range of a purchase's bytes, or no text at all.
package struct ReceiptText: Sendable {
    private let start: UInt32
    private let end: UInt32

    package static let none = ReceiptText(start: 1, end: 0)

    private init(start: UInt32, end: UInt32) {
        self.start = start
        self.end = end
    }

    /// - Parameter range: its bounds are below 4 GB, because receipts are below 8 MB.
    init(_ range: Range<Int>) { self.init(start: UInt32(range.lowerBound), end: UInt32(range.upperBound)) }

    package var range: Range<Int>? { start <= end ? Int(start)..<Int(end) : nil }
}

extension InAppPurchase {
    /// Attribute 1702.
    package var productId: String? {
        get { string(productIdText) }
        set { productIdText = stored(newValue) }
    }
    /// Attribute 1703; `0` in receipts from Xcode.
    package var transactionId: String? {
        get { string(transactionIdText) }
        set { transactionIdText = stored(newValue) }
    }
    /// Attribute 1705: the id of the first transaction of a subscription; for other products it equals attribute 1703
    /// unless the purchase was restored.
    package var originalTransactionId: String? {
        get { string(originalTransactionIdText) }
        set { originalTransactionIdText = stored(newValue) }
    }
    /// Attribute 1721: the identifier of a promotional offer, or a random UUID for an offer code.
    package var promotionalOfferId: String? {
        get { string(promotionalOfferIdText) }
        set { promotionalOfferIdText = stored(newValue) }
    }

    /// ``transactionId``, if it is an identifier that the App Store Server API knows.
    var transactionIdentifier: TransactionIdentifier? { identifier(transactionIdText) }
    var originalTransactionIdentifier: TransactionIdentifier? { identifier(originalTransactionIdText) }

    /// The attributes that have no property above, with their raw values; empty attributes are left out.
    package var unknownAttributes: [UnknownAttribute] {
        get {
            replacedAttributes ?? (try? UnknownAttribute.read(attributes, of: bytes, except: Self.knownTypes)) ?? []
        }
        set { replacedAttributes = newValue }
    }

    /// Passes the bytes of a text in UTF-8 to a closure; returns `nil` if there is no text.
    package func withUTF8<Result>(_ text: ReceiptText, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result? {
        guard let range = text.range else { return nil }
        return bytes.reveal().withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
    }

    private func string(_ text: ReceiptText) -> String? { withUTF8(text) { String(decoding: $0, as: UTF8.self) } }

    private func identifier(_ text: ReceiptText) -> TransactionIdentifier? {
        withUTF8(text) { TransactionIdentifier(utf8: $0) } ?? nil
    }

    private mutating func stored(_ text: String?) -> ReceiptText {
        guard let text else { return .none }
        var all = bytes.reveal()
        let start = all.count
        all.append(contentsOf: text.utf8)
        bytes = Redacted(all)
        return ReceiptText(start..<all.count)
    }
}

extension InAppPurchase {
    /// The attributes that have a property.
    static let knownTypes: Set<Int64> = [
        1701, 1702, 1703, 1704, 1705, 1706, 1707, 1708, 1710, 1711, 1712, 1713, 1719, 1720, 1721, 1722,
    ]

    /// Reads the purchase from the value of an attribute 17, which is again a `SET OF ReceiptAttribute`. The index in
    /// the receipt is for error messages, and `base` is the offset of `bytes` in ``bytes``.
    mutating func read(
        _ purchase: ReceiptAttribute, index: Int, in bytes: borrowing Span<UInt8>, base: Int
    ) throws(ReceiptDecodingError) {
        var type: Int64?
        var unknown = 0
        do throws(BERError) {
            var outer = purchase.value.inside
            let set = try outer.next(BERTag.set, in: bytes)
            attributes = ReceiptText(base + set.contentStart..<base + set.contentEnd)
            var cursor = set.inside
            while !cursor.isAtEnd {
                type = nil
                let attribute = try ReceiptAttribute(next: &cursor, in: bytes)
                type = attribute.type
                if try !read(attribute, in: bytes, base: base) { unknown += 1 }
            }
        } catch {
            throw ReceiptDecodingError(error, at: "attribute 17[\(index)]\(type.map { " › \($0)" } ?? "")")
        }
        guard unknown <= AppReceipt.maximumUnknownAttributes else {
            throw ReceiptDecodingError(.tooMany, at: "attribute 17[\(index)]", "too many unknown attributes")
        }
    }

    /// Reads one attribute of the purchase. Returns `false` if it is unknown and has a value.
    @inline(__always)
    private mutating func read(
        _ attribute: ReceiptAttribute, in bytes: borrowing Span<UInt8>, base: Int
    ) throws(BERError) -> Bool {
        switch attribute.type {
        case 1701: quantity = try attribute.number(in: bytes)
        case 1702: productIdText = try attribute.range(in: bytes, base: base)
        case 1703: transactionIdText = try attribute.range(in: bytes, base: base)
        case 1704: purchaseDate = try attribute.date(in: bytes)
        case 1705: originalTransactionIdText = try attribute.range(in: bytes, base: base)
        case 1706: originalPurchaseDate = try attribute.date(in: bytes)
        case 1707: productType = try attribute.number(in: bytes).map(ReceiptProductType.init(rawValue:))
        case 1708: expiresDate = try attribute.date(in: bytes)
        case 1710: productAppleId = try attribute.number(in: bytes)
        case 1711: webOrderLineItemId = try attribute.number(in: bytes)
        case 1712: cancellationDate = try attribute.date(in: bytes)
        case 1713: isTrialPeriod = try attribute.number(in: bytes)
        case 1719: isInIntroOfferPeriod = try attribute.number(in: bytes)
        case 1720:
            // Only three genuine ones are known. A value that is not a number must not make a receipt unreadable.
            guard let reason = try? attribute.number(in: bytes) else { return attribute.isEmptyText(in: bytes) }
            cancellationReason = reason
        case 1721: promotionalOfferIdText = try attribute.range(in: bytes, base: base)
        case 1722: ownershipType = try attribute.number(in: bytes)
        default: return attribute.isEmptyText(in: bytes)
        }
        return true
    }
}

extension InAppPurchase: Hashable {
    package static func == (left: Self, right: Self) -> Bool {
        left.numbers == right.numbers && left.strings == right.strings
            && left.unknownAttributes == right.unknownAttributes
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(numbers)
        hasher.combine(strings)
    }

    private var numbers: [Int64?] {
        [
            quantity, purchaseDate?.milliseconds, originalPurchaseDate?.milliseconds, productType?.rawValue,
            expiresDate?.milliseconds, productAppleId, webOrderLineItemId, cancellationDate?.milliseconds,
            cancellationReason, isTrialPeriod, isInIntroOfferPeriod, ownershipType,
        ]
    }

    private var strings: [String?] { [productId, transactionId, originalTransactionId, promotionalOfferId] }
}
