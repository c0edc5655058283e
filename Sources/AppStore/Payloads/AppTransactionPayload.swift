package import StoreTypes

/// What a `signedAppTransactionInfo` says: one customer's download of the app.
///
/// https://developer.apple.com/documentation/appstoreserverapi/jwsapptransactiondecodedpayload
package struct AppTransactionPayload: Sendable, Hashable {
    /// The environment: `Production`, `Sandbox` or `Xcode`.
    package var receiptType: String?
    /// The app's number; missing in the sandbox.
    package var appAppleId: Int64?
    /// The app.
    package var bundleId: String?
    /// The version that asked; not from the Server API.
    package var applicationVersion: String?
    /// The App Store's number of that version; not from the Server API.
    package var versionExternalIdentifier: Int64?
    /// When the App Store signed this: the time at which its certificates are judged.
    package var receiptCreationDate: Timestamp?
    /// When the customer first got the app.
    package var originalPurchaseDate: Timestamp?
    /// The version the customer first got.
    package var originalApplicationVersion: String?
    /// Ties the value to a device; not from the Server API.
    package var deviceVerification: String?
    /// Goes into `deviceVerification`.
    package var deviceVerificationNonce: String?
    /// When the customer ordered the app before its release.
    package var preorderDate: Timestamp?
    /// Of this download; each member of a family has their own.
    package var appTransactionId: String?
    /// `iOS`, `macOS`, `tvOS` or `visionOS`.
    package var originalPlatform: String?

    /// The payload as it was signed, JSON: what has no field here survives in it.
    package var claims: [UInt8] = []

    /// One that says nothing.
    package init() {}
}
