package import ReceiptBridgeBase

/// The payload of a `signedAppTransactionInfo`: one customer's download of the app.
///
/// https://developer.apple.com/documentation/appstoreserverapi/jwsapptransactiondecodedpayload
package struct AppTransactionPayload: Sendable, Hashable {
    /// The environment: `Production`, `Sandbox` or `Xcode`.
    package var receiptType: String?
    /// The Apple ID of the app; missing in the sandbox.
    package var appAppleId: Int64?
    package var bundleId: String?
    /// The app version that requested this payload; absent if it comes from the Server API.
    package var applicationVersion: String?
    /// The App Store's number of that version; absent if it comes from the Server API.
    package var versionExternalIdentifier: Int64?
    /// The time of signing. The signer's certificates are checked for this time.
    package var receiptCreationDate: Timestamp?
    /// The time when the customer first got the app.
    package var originalPurchaseDate: Timestamp?
    /// The app version that the customer first got.
    package var originalApplicationVersion: String?
    /// A value that ties the payload to a device; absent if it comes from the Server API.
    package var deviceVerification: String?
    /// The input to `deviceVerification`.
    package var deviceVerificationNonce: String?
    /// The time when the customer pre-ordered the app.
    package var preorderDate: Timestamp?
    /// The identifier of this download. Each member of a family has a separate one.
    package var appTransactionId: String?
    /// `iOS`, `macOS`, `tvOS` or `visionOS`.
    package var originalPlatform: String?

    package var claims: [UInt8] = []

    package init() {}
}

extension AppTransactionPayload: SignedClaims {
    package static let kinds: [SignedKind] = [.appTransaction]

    package init(_ claims: inout ClaimReader) throws(JSONFieldError) {
        receiptType = try claims.object.text("receiptType")
        appAppleId = try claims.object.number("appAppleId")
        bundleId = try claims.object.text("bundleId")
        applicationVersion = claims.text("applicationVersion")
        versionExternalIdentifier = claims.integer("versionExternalIdentifier")
        receiptCreationDate = try claims.object.date("receiptCreationDate")
        originalPurchaseDate = claims.date("originalPurchaseDate")
        originalApplicationVersion = claims.text("originalApplicationVersion")
        deviceVerification = claims.text("deviceVerification")
        deviceVerificationNonce = claims.text("deviceVerificationNonce")
        preorderDate = claims.date("preorderDate")
        appTransactionId = try claims.object.text("appTransactionId")
        originalPlatform = claims.text("originalPlatform")
        self.claims = claims.object.bytes
    }

    package var signingDate: Timestamp? { receiptCreationDate }
    package static var signingDateName: String { "receiptCreationDate" }
    package var claimedAppAppleId: Int64? { appAppleId }
    package var claimedBundleId: String? { bundleId }
    package var claimedEnvironment: String? { receiptType }
}
