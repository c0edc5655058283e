package import AppStoreTypes

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
    package var opaqueValue: [UInt8]?
    /// Attribute 5: the device hash, which is SHA-1 over the device id, attribute 4 and attribute 2. It cannot be
    /// verified on a server, because the device id is unknown there.
    package var sha1Hash: [UInt8]?
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
    package var unknownAttributes: [UnknownAttribute] = []

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
package struct ProductType: RawRepresentable, Sendable, Hashable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// A product that is bought once, for example a level of a game.
    package static let nonConsumable = ProductType(rawValue: 0)
    /// A product that can be bought repeatedly. It is in receipts only until the app finishes its transaction.
    package static let consumable = ProductType(rawValue: 1)
    /// A subscription for a limited time that does not renew.
    package static let nonRenewing = ProductType(rawValue: 2)
    /// A subscription that renews until it is canceled.
    package static let autoRenewable = ProductType(rawValue: 3)
    /// A subscription without a price, from the time of Newsstand.
    package static let freeSubscription = ProductType(rawValue: 4)
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
