package import StoreTypes

/// The content of an App Receipt (PKCS#7), as its attributes hold it.
///
/// An attribute that is absent, or whose text is empty, is nil here; nothing is made up. Attribute numbers and meanings:
/// Apple's "Receipt Fields", and for those Apple does not document, equality with Apple's own answers.
package struct AppReceipt: Sendable, Hashable {
    /// Attribute 0: `Production`, `ProductionSandbox`, `ProductionVPP`, `ProductionVPPSandbox` or `Xcode`.
    package var receiptType: String?
    /// Attribute 1: the app's Apple ID (`adam_id` and `app_item_id`), 0 in sandbox.
    package var appAppleId: Int64?
    /// Attribute 2.
    package var bundleId: String?
    /// Attribute 3.
    package var applicationVersion: String?
    /// Attribute 4: 16 bytes (8 in Xcode's), input of the device hash.
    package var opaqueValue: [UInt8]?
    /// Attribute 5: SHA-1 over device id, attribute 4 and attribute 2.
    package var sha1Hash: [UInt8]?
    /// Attribute 8: when the device got the receipt; empty in sandbox.
    package var deviceReceiptDate: Timestamp?
    /// Attribute 10: `4+` and so on.
    package var ageRating: String?
    /// Attribute 12: when the receipt was made; signatures are judged at this time.
    package var receiptCreationDate: Timestamp?
    /// Attribute 13: the client's system version, packed as MMmmpp.
    package var clientSystemVersion: Int64?
    /// Attribute 15, 0 in sandbox.
    package var downloadId: Int64?
    /// Attribute 16, 0 in sandbox.
    package var versionExternalIdentifier: Int64?
    /// Attribute 18: when the app was first got.
    package var originalPurchaseDate: Timestamp?
    /// Attribute 19.
    package var originalApplicationVersion: String?
    /// Attribute 21: volume purchase receipts end then.
    package var expirationDate: Timestamp?
    /// Attribute 25: 3 iOS and watchOS, 2 macOS.
    package var platform: Int64?
    /// One per attribute 17, in the order of the blob, which is the order of `in_app` in Apple's answers.
    package var purchases: [InAppPurchase] = []
    /// What is not named above, raw.
    package var unknownAttributes: [UnknownAttribute] = []

    package init() {}

    /// From attribute 0; nil when it says something unheard of.
    package var environment: AppStoreEnvironment? {
        switch receiptType {
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
        case "Xcode": .xcode
        default: nil
        }
    }
}

/// One purchase of an App Receipt: the attributes inside an attribute 17.
package struct InAppPurchase: Sendable, Hashable {
    /// Attribute 1701.
    package var quantity: Int64?
    /// Attribute 1702.
    package var productId: String?
    /// Attribute 1703; `0` in Xcode's receipts.
    package var transactionId: String?
    /// Attribute 1704.
    package var purchaseDate: Timestamp?
    /// Attribute 1705.
    package var originalTransactionId: String?
    /// Attribute 1706; can be later than 1704.
    package var originalPurchaseDate: Timestamp?
    /// Attribute 1707; not in Apple's JSON.
    package var productType: ProductType?
    /// Attribute 1708; only auto-renewables have one.
    package var expiresDate: Timestamp?
    /// Attribute 1710: the product's Apple ID, 0 in sandbox; not in Apple's JSON.
    package var productAppleId: Int64?
    /// Attribute 1711; 0 when there is none.
    package var webOrderLineItemId: Int64?
    /// Attribute 1712.
    package var cancellationDate: Timestamp?
    /// In no attribute: comes with a revocation that became known later.
    package var cancellationReason: Int64?
    /// Attribute 1713.
    package var isTrialPeriod: Int64?
    /// Attribute 1719; absent before December 2017.
    package var isInIntroOfferPeriod: Int64?
    /// Attribute 1721.
    package var promotionalOfferId: String?
    /// Attribute 1722: 0 PURCHASED, 1 FAMILY_SHARED; absent before about 2021.
    package var ownershipType: Int64?
    /// What is not named above, raw; empty ones are left out.
    package var unknownAttributes: [UnknownAttribute] = []

    package init() {}

    /// Only auto-renewables have an expiry.
    package var isAutoRenewable: Bool { expiresDate != nil }
}

/// Attribute 1707: an open set, so that a new number survives.
package struct ProductType: RawRepresentable, Sendable, Hashable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let nonConsumable = ProductType(rawValue: 0)
    package static let consumable = ProductType(rawValue: 1)
    package static let nonRenewing = ProductType(rawValue: 2)
    package static let autoRenewable = ProductType(rawValue: 3)
    package static let freeSubscription = ProductType(rawValue: 4)
}

/// An attribute without a published meaning.
package struct UnknownAttribute: Sendable, Hashable {
    package let type: Int64
    /// The bytes of the attribute's value, tag and length of an inner type included.
    package let value: [UInt8]

    package init(type: Int64, value: [UInt8]) {
        self.type = type
        self.value = value
    }
}
