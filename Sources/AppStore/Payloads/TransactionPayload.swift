package import StoreTypes

/// What a `signedTransactionInfo` says: one purchase, or one period of a subscription.
///
/// Every field is optional, since Apple has left out each of them at some time; a genuine transaction without a bundle
/// id is known (app-store-server-library-swift issue 71). Texts are kept as they came, so that new values survive.
///
/// https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload
package struct TransactionPayload: Sendable, Hashable {
    /// `0` from Xcode.
    package var transactionId: String?
    /// The first transaction of the subscription; for all else the transaction itself, or the one it restores.
    package var originalTransactionId: String?
    /// One period of a subscription across its restorations; may be missing for family members.
    package var webOrderLineItemId: String?
    /// The app.
    package var bundleId: String?
    /// The product.
    package var productId: String?
    /// Of auto-renewables.
    package var subscriptionGroupIdentifier: String?

    /// May lie after `signedDate`: renewals are announced before their period begins.
    package var purchaseDate: Timestamp?
    /// Of the first transaction; a constant of the year 0 from Xcode.
    package var originalPurchaseDate: Timestamp?
    /// Of auto-renewables.
    package var expiresDate: Timestamp?
    /// When the App Store signed this: the time at which its certificates are judged.
    package var signedDate: Timestamp?
    /// Refunded, or taken from a family.
    package var revocationDate: Timestamp?

    /// 1, but for some consumables.
    package var quantity: Int64?
    /// 0 other, 1 an issue in the app.
    package var revocationReason: Int64?
    /// 1 introductory, 2 promotional, 3 offer code, 4 win-back: see `OfferType`.
    package var offerType: Int64?
    /// In thousandths of the currency's unit.
    package var price: Int64?
    /// In thousandths of a percent.
    package var revocationPercentage: Int64?

    /// See `ProductType`.
    package var type: String?
    /// A UUID, in lower case as Apple sends it.
    package var appAccountToken: String?
    /// See `OwnershipType`.
    package var inAppOwnershipType: String?
    /// Of a promotional offer, an offer code or a win-back offer.
    package var offerIdentifier: String?
    /// `Production`, `Sandbox`, `Xcode` or `LocalTesting`; missing in 2021.
    package var environment: String?
    /// A country's three letters (ISO 3166-1).
    package var storefront: String?
    /// Apple's number of the storefront.
    package var storefrontId: String?
    /// `PURCHASE` or `RENEWAL`.
    package var transactionReason: String?
    /// Three letters (ISO 4217).
    package var currency: String?
    /// See `OfferDiscountType`.
    package var offerDiscountType: String?
    /// Of the customer's download of the app.
    package var appTransactionId: String?
    /// A duration (ISO 8601), as `P1W`.
    package var offerPeriod: String?
    /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`.
    package var revocationType: String?

    /// True when an upgrade replaced it; Apple leaves it out otherwise.
    package var isUpgraded: Bool?

    /// The payload as it was signed, JSON: what has no field here survives in it.
    package var claims: [UInt8] = []

    /// One that says nothing.
    package init() {}
}
