package import JSONReading
package import StoreTypes

extension AppTransactionPayload: SignedClaims {
    /// Reads every field that has a name in the document; `claims` keeps the document.
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

    /// When it was signed.
    package var signingDate: Timestamp? { receiptCreationDate }
    /// This kind names it otherwise.
    package static var signingDateName: String { "receiptCreationDate" }
    /// The app's number.
    package var claimedAppAppleId: Int64? { appAppleId }
    /// The app.
    package var claimedBundleId: String? { bundleId }
    /// The environment.
    package var claimedEnvironment: String? { receiptType }
}
