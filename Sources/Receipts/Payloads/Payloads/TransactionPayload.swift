package import ReceiptBridgeBase

/// The payload of a `signedTransactionInfo`: one purchase, or one period of a subscription.
///
/// Every field is optional because Apple has omitted each of them at some time. For example, an authentic transaction
/// without a bundle identifier is reported in app-store-server-library-swift issue 71. Texts are stored as received,
/// so that new values are preserved.
///
/// https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload
package struct TransactionPayload: Sendable, Hashable {
    /// The identifier of the transaction; `0` in payloads from Xcode.
    package var transactionId: String?
    /// The first transaction of the subscription. For other products, the transaction itself or the one it restores.
    package var originalTransactionId: String?
    /// The identifier of a subscription period, the same in all its restorations. May be missing for family members.
    package var webOrderLineItemId: String?
    package var bundleId: String?
    package var productId: String?
    /// The subscription group; only for auto-renewable subscriptions.
    package var subscriptionGroupIdentifier: String?

    /// The purchase date. May be later than `signedDate`, because renewals are announced before their period begins.
    package var purchaseDate: Timestamp?
    /// The purchase date of the first transaction. Xcode writes a constant date in the year 0.
    package var originalPurchaseDate: Timestamp?
    /// The end of the period; only for auto-renewable subscriptions.
    package var expiresDate: Timestamp?
    /// The time of signing. The signer's certificates are checked for this time.
    package var signedDate: Timestamp?
    /// The time of a refund or of the removal from Family Sharing.
    package var revocationDate: Timestamp?

    /// The quantity: 1, except for some consumables.
    package var quantity: Int64?
    /// 0 for other reasons, 1 for an issue in the app.
    package var revocationReason: Int64?
    /// 1 introductory, 2 promotional, 3 offer code, 4 win-back: see `OfferType`.
    package var offerType: Int64?
    /// The price in thousandths of the currency unit.
    package var price: Int64?
    /// The refunded share in thousandths of a percent.
    package var revocationPercentage: Int64?

    /// The product type: see `ProductType`.
    package var type: String?
    /// The UUID the app set for the customer. Apple sends it in lower case.
    package var appAccountToken: String?
    /// The ownership type: see `OwnershipType`.
    package var inAppOwnershipType: String?
    /// The identifier of a promotional offer, an offer code or a win-back offer.
    package var offerIdentifier: String?
    /// `Production`, `Sandbox`, `Xcode` or `LocalTesting`; missing in 2021.
    package var environment: String?
    /// The country of the storefront, three letters (ISO 3166-1).
    package var storefront: String?
    package var storefrontId: String?
    /// `PURCHASE` or `RENEWAL`.
    package var transactionReason: String?
    /// The currency, three letters (ISO 4217).
    package var currency: String?
    /// The discount type: see `OfferDiscountType`.
    package var offerDiscountType: String?
    package var appTransactionId: String?
    /// The duration of the offer (ISO 8601), for example `P1W`.
    package var offerPeriod: String?
    /// `REFUND_FULL`, `REFUND_PRORATED` or `FAMILY_REVOKE`.
    package var revocationType: String?
    /// `BILLED_UPFRONT` or `MONTHLY`.
    package var billingPlanType: String?
    /// The subscription from which this one was migrated to the Advanced Commerce API.
    package var previousOriginalTransactionId: String?
    /// The month within a commitment. Absent if the subscription has none.
    package var commitmentInfo: TransactionCommitment?
    /// The items of a purchase with the Advanced Commerce API, as their JSON bytes.
    package var advancedCommerceInfo: [UInt8]?

    /// True if an upgrade replaced this transaction. Apple omits it otherwise.
    package var isUpgraded: Bool?

    package var claims: [UInt8] = []

    package init() {}
}

extension TransactionPayload {
    /// Whether the product is an auto-renewable subscription: see ``ProductType/isAutoRenewable(_:expires:)``.
    package var isAutoRenewable: Bool { ProductType.isAutoRenewable(type, expires: expiresDate != nil) }

    /// The product type as far as it is known; `nil` if it is absent or new, and the product does not expire.
    package var knownType: ProductType? {
        if isAutoRenewable { return .autoRenewable }
        let known: [ProductType] = [.nonConsumable, .consumable, .nonRenewing]
        return known.first { $0.rawValue == type }
    }

    package var isConsumable: Bool { type == ProductType.consumable.rawValue }
}

extension TransactionPayload: SignedClaims {
    package static let kinds: [SignedKind] = [.transaction]

    package init(_ claims: inout ClaimReader) throws(JSONFieldError) {
        transactionId = try claims.object.text("transactionId")
        originalTransactionId = try claims.object.text("originalTransactionId")
        webOrderLineItemId = claims.text("webOrderLineItemId")
        bundleId = try claims.object.text("bundleId")
        productId = claims.text("productId")
        subscriptionGroupIdentifier = claims.text("subscriptionGroupIdentifier")
        purchaseDate = try claims.object.date("purchaseDate")
        originalPurchaseDate = claims.date("originalPurchaseDate")
        expiresDate = try claims.object.date("expiresDate")
        signedDate = try claims.object.date("signedDate")
        revocationDate = try claims.object.date("revocationDate")
        quantity = claims.integer("quantity")
        revocationReason = claims.integer("revocationReason")
        offerType = claims.integer("offerType")
        price = claims.integer("price")
        revocationPercentage = claims.integer("revocationPercentage")
        type = claims.text("type")
        appAccountToken = claims.text("appAccountToken")
        inAppOwnershipType = claims.text("inAppOwnershipType")
        offerIdentifier = claims.text("offerIdentifier")
        environment = try claims.object.text("environment")
        storefront = claims.text("storefront")
        storefrontId = claims.text("storefrontId")
        transactionReason = claims.text("transactionReason")
        currency = claims.text("currency")
        offerDiscountType = claims.text("offerDiscountType")
        appTransactionId = claims.text("appTransactionId")
        offerPeriod = claims.text("offerPeriod")
        revocationType = claims.text("revocationType")
        billingPlanType = claims.text("billingPlanType")
        previousOriginalTransactionId = claims.text("previousOriginalTransactionId")
        commitmentInfo = claims.nested("commitmentInfo", TransactionCommitment.init)
        advancedCommerceInfo = claims.rawObject("advancedCommerceInfo")
        isUpgraded = claims.flag("isUpgraded")
        self.claims = claims.object.bytes
    }

    package var signingDate: Timestamp? { signedDate }
    package var claimedBundleId: String? { bundleId }
    package var claimedEnvironment: String? { environment }
}
