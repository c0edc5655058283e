package import JSONReading
package import StoreTypes

extension AppTransactionPayload: SignedClaims {
    /// Reads every field declared in the type. `claims` keeps the whole document.
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

    /// The time of signing.
    package var signingDate: Timestamp? { receiptCreationDate }
    /// This payload has no `signedDate`.
    package static var signingDateName: String { "receiptCreationDate" }
    /// The Apple ID of the app.
    package var claimedAppAppleId: Int64? { appAppleId }
    /// The bundle identifier of the app.
    package var claimedBundleId: String? { bundleId }
    /// The App Store environment.
    package var claimedEnvironment: String? { receiptType }
}
