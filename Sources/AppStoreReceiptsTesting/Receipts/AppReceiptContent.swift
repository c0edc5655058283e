package import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// The content of an App Receipt: the app and its purchases.
package struct AppReceiptContent: Sendable, Hashable {
    /// Attribute 0: `Production`, `ProductionSandbox`, `ProductionVPP` or `ProductionVPPSandbox`.
    package var receiptType: String
    /// 0 in the sandbox.
    package var appAppleId: Int64
    package var bundleId: String
    package var applicationVersion = "42"
    package var originalApplicationVersion: String
    package var creationDate: Timestamp
    package var originalPurchaseDate: Timestamp
    /// 0 in the sandbox.
    package var downloadId: Int64
    /// 0 in the sandbox.
    package var versionExternalIdentifier: Int64
    /// Only for volume purchases.
    package var expirationDate: Timestamp?
    /// 3 for iOS, 2 for macOS.
    package var platform: Int64 = 3
    package var purchases: [AppReceiptPurchase]
    /// Seed of the opaque attributes 4 to 7, so that the same plan gives the same bytes.
    package var opaqueSeed: UInt64
    /// Attributes to append, for example unknown types, duplicates of known types, or wrong encodings.
    package var extraAttributes: [ReceiptAttribute] = []

    package init(
        environment: AppStoreEnvironment, bundleId: String, appAppleId: Int64 = 1_234_567_890, creationDate: Timestamp,
        purchases: [AppReceiptPurchase] = [], opaqueSeed: UInt64 = 1
    ) {
        let isProduction = environment == .production
        receiptType = isProduction ? "Production" : "ProductionSandbox"
        self.appAppleId = isProduction ? appAppleId : 0
        self.bundleId = bundleId
        originalApplicationVersion = isProduction ? "17" : "1.0"
        self.creationDate = creationDate
        // Every sandbox receipt has 2013-08-01T07:00:00Z.
        originalPurchaseDate = isProduction ? creationDate.advanced(by: .days(-400)) : Timestamp(seconds: 1_375_340_400)
        downloadId = isProduction ? 500_900_000_000_000_000 + Int64(opaqueSeed % 1_000_000_000) : 0
        versionExternalIdentifier = isProduction ? 860_000_001 : 0
        self.purchases = purchases
        self.opaqueSeed = opaqueSeed
    }
}

/// The content of an attribute 17: one purchase.
package struct AppReceiptPurchase: Sendable, Hashable {
    package var quantity: Int64 = 1
    package var productId: String
    package var transactionId: String
    package var originalTransactionId: String
    package var purchaseDate: Timestamp
    package var originalPurchaseDate: Timestamp
    /// 0 non-consumable, 1 consumable, 2 non-renewing subscription, 3 auto-renewable subscription.
    package var productType: Int64
    package var expiresDate: Timestamp?
    package var productAppleId: Int64 = 0
    package var webOrderLineItemId: Int64 = 0
    package var isTrialPeriod = false
    /// Written only for auto-renewable subscriptions, as in newer receipts.
    package var isInIntroOfferPeriod = false
    package var isFamilyShared = false
    /// Attribute 1712, empty without a refund.
    package var cancellationDate: Timestamp?
    /// Attribute 1720, only of a refund: 0 or 1.
    package var cancellationReason: Int64?
    package var extraAttributes: [ReceiptAttribute] = []
    /// Whether the receipt says if the purchase is shared, as newer receipts do.
    package var includesOwnership = true

    package init(
        productId: String, transactionId: String, originalTransactionId: String? = nil, purchaseDate: Timestamp,
        originalPurchaseDate: Timestamp? = nil, productType: Int64, expiresDate: Timestamp? = nil
    ) {
        self.productId = productId
        self.transactionId = transactionId
        self.originalTransactionId = originalTransactionId ?? transactionId
        self.purchaseDate = purchaseDate
        self.originalPurchaseDate = originalPurchaseDate ?? purchaseDate
        self.productType = productType
        self.expiresDate = expiresDate
    }
}

extension AppReceiptPurchase {
    /// Attributes whose meaning is unknown and which are an empty text in every receipt, in DER.
    private static let alwaysEmpty = ([1709] + (1714...1718)).map { ReceiptAttribute.text($0, "").der }

    /// The attributes 1701 to 1722, without those that are always empty.
    private var filled: [ReceiptAttribute] {
        var list: [ReceiptAttribute] = [
            .number(1701, quantity), .text(1702, productId), .text(1703, transactionId), .date(1704, purchaseDate),
            .text(1705, originalTransactionId), .date(1706, originalPurchaseDate), .number(1707, productType),
            .date(1708, expiresDate), .number(1710, productAppleId), .number(1711, webOrderLineItemId),
            .date(1712, cancellationDate), .number(1713, isTrialPeriod ? 1 : 0),
        ]
        if expiresDate != nil { list.append(.number(1719, isInIntroOfferPeriod ? 1 : 0)) }
        if let cancellationReason { list.append(.number(1720, cancellationReason)) }
        if includesOwnership { list.append(.number(1722, isFamilyShared ? 1 : 0)) }
        return list
    }

    /// The value of attribute 17 in DER.
    package var der: [UInt8] { DEREncoder.set(filled.map(\.der) + Self.alwaysEmpty + extraAttributes.map(\.der)) }
}

extension AppReceiptContent {
    /// The attributes of the app (types 0 to 25), without the purchases.
    private var attributes: [ReceiptAttribute] {
        var random = SplitMix64(seed: opaqueSeed)
        let isProduction = appAppleId != 0
        let opaque = random.bytes(16)
        let device = random.bytes(16)
        let hash = SHA.digest(device + opaque + DEREncoder.utf8String(bundleId), with: .sha1)
        var list: [ReceiptAttribute] = [
            .text(0, receiptType), .number(1, appAppleId), .text(2, bundleId), .text(3, applicationVersion),
            ReceiptAttribute(4, version: 2, raw: opaque), ReceiptAttribute(5, raw: hash),
            ReceiptAttribute(6, raw: random.bytes(50 + Int(opaqueSeed % 40))),
            ReceiptAttribute(7, raw: random.bytes(50 + Int(opaqueSeed % 37))),
            .date(8, isProduction ? creationDate : nil), .number(9, 1_345_531_957),
            ReceiptAttribute(10, raw: DEREncoder.ia5String("4+")), .number(11, isProduction ? 17_483_651 : 0),
            .date(12, creationDate), .number(13, 180_602), .number(14, isProduction ? 76 : 0),
            .number(15, downloadId), .number(16, versionExternalIdentifier), .date(18, originalPurchaseDate),
            .text(19, originalApplicationVersion),
        ]
        if platform == 3 { list.append(.text(20, "")) }
        if let expirationDate { list.append(.date(21, expirationDate)) }
        list.append(.number(25, platform))
        return list + extraAttributes
    }

    /// Returns the signed payload: a SET of all attributes, with an attribute of type 17 for each purchase.
    ///
    /// Apple sorts the SET as DER requires; Xcode does not (`sorted: false`).
    package func payload(sorted: Bool = true) -> [UInt8] {
        let purchases = purchases.map { ReceiptAttribute(17, raw: $0.der).der }
        return DEREncoder.set(attributes.map(\.der) + purchases, sorted: sorted)
    }

    /// The purchases in the order of the sorted payload, which is also that of `in_app` in the response.
    package var purchasesInBlobOrder: [AppReceiptPurchase] {
        purchases.map { (purchase: $0, der: ReceiptAttribute(17, raw: $0.der).der) }
            .sorted { DEREncoder.precedes($0.der, $1.der) }
            .map(\.purchase)
    }
}

/// A receipt attribute: `ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`.
///
/// The same structure is used at both levels, for attributes of the app (types 0 to 25) and of a purchase (types 1701
/// to 1722).
package struct ReceiptAttribute: Sendable, Hashable {
    package var type: Int64
    package var version: Int64
    /// Content of the OCTET STRING: usually a DER value, sometimes raw bytes.
    package var value: [UInt8]

    package init(_ type: Int64, version: Int64 = 1, raw value: [UInt8]) {
        (self.type, self.version, self.value) = (type, version, value)
    }

    package static func text(_ type: Int64, _ text: String) -> ReceiptAttribute {
        ReceiptAttribute(type, raw: DEREncoder.utf8String(text))
    }

    package static func number(_ type: Int64, _ number: Int64) -> ReceiptAttribute {
        ReceiptAttribute(type, raw: DEREncoder.integer(number))
    }

    /// An attribute with a date in UTC in whole seconds, or with an empty text if `instant` is `nil`.
    package static func date(_ type: Int64, _ instant: Timestamp?) -> ReceiptAttribute {
        ReceiptAttribute(type, raw: DEREncoder.ia5String(instant?.rfc3339 ?? ""))
    }

    package var der: [UInt8] {
        DEREncoder.sequence(DEREncoder.integer(type), DEREncoder.integer(version), DEREncoder.octetString(value))
    }
}
