package import StoreTypes

extension AppTransactionPayload: SignedClaims {
    package init(_ object: JSONObject) throws(JSONFieldError) {
        receiptType = try object.text("receiptType")
        appAppleId = try object.integer("appAppleId")
        bundleId = try object.text("bundleId")
        applicationVersion = try object.text("applicationVersion")
        versionExternalIdentifier = try object.integer("versionExternalIdentifier")
        receiptCreationDate = try object.date("receiptCreationDate")
        originalPurchaseDate = try object.date("originalPurchaseDate")
        originalApplicationVersion = try object.text("originalApplicationVersion")
        deviceVerification = try object.text("deviceVerification")
        deviceVerificationNonce = try object.text("deviceVerificationNonce")
        preorderDate = try object.date("preorderDate")
        appTransactionId = try object.text("appTransactionId")
        originalPlatform = try object.text("originalPlatform")
        claims = object.bytes
    }

    package var signingDate: Timestamp? { receiptCreationDate }
    package static var signingDateName: String { "receiptCreationDate" }
    package var claimedBundleId: String? { bundleId }
    package var claimedEnvironment: String? { receiptType }
}
