package import JSONReading
package import StoreTypes

extension TransactionPayload: SignedClaims {
    /// Reads every field declared in the type. `claims` keeps the whole document.
    package init(_ object: JSONObject) throws(JSONFieldError) {
        transactionId = try object.text("transactionId")
        originalTransactionId = try object.text("originalTransactionId")
        webOrderLineItemId = try object.text("webOrderLineItemId")
        bundleId = try object.text("bundleId")
        productId = try object.text("productId")
        subscriptionGroupIdentifier = try object.text("subscriptionGroupIdentifier")
        purchaseDate = try object.date("purchaseDate")
        originalPurchaseDate = try object.date("originalPurchaseDate")
        expiresDate = try object.date("expiresDate")
        signedDate = try object.date("signedDate")
        revocationDate = try object.date("revocationDate")
        quantity = try object.integer("quantity")
        revocationReason = try object.integer("revocationReason")
        offerType = try object.integer("offerType")
        price = try object.integer("price")
        revocationPercentage = try object.integer("revocationPercentage")
        type = try object.text("type")
        appAccountToken = try object.text("appAccountToken")
        inAppOwnershipType = try object.text("inAppOwnershipType")
        offerIdentifier = try object.text("offerIdentifier")
        environment = try object.text("environment")
        storefront = try object.text("storefront")
        storefrontId = try object.text("storefrontId")
        transactionReason = try object.text("transactionReason")
        currency = try object.text("currency")
        offerDiscountType = try object.text("offerDiscountType")
        appTransactionId = try object.text("appTransactionId")
        offerPeriod = try object.text("offerPeriod")
        revocationType = try object.text("revocationType")
        isUpgraded = try object.flag("isUpgraded")
        claims = object.bytes
    }

    /// The time of signing.
    package var signingDate: Timestamp? { signedDate }
    /// The bundle identifier of the app.
    package var claimedBundleId: String? { bundleId }
    /// The App Store environment.
    package var claimedEnvironment: String? { environment }
}
