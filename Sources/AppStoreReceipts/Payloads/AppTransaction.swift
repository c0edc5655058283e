import ReceiptBridgeReceipts
public import Foundation

/// The authentic payload of a signed app transaction: one customer's download of the app. Only ``SignedDataVerifier``
/// creates it.
///
/// Any property may be absent. [Apple's documentation](
/// https://developer.apple.com/documentation/appstoreserverapi/jwsapptransactiondecodedpayload)
public struct AppTransaction: Hashable, Sendable {
    let signed: Signed<AppTransactionPayload>
    private var payload: AppTransactionPayload { signed.payload }

    /// The JWS.
    public var signedAppTransaction: String { signed.text }
    /// The payload as signed, in JSON. Members without a property here are in it.
    public var claims: Data { Data(payload.claims) }

    /// The customer's download of the app. Each member of a family has a separate one.
    public var appTransactionId: String? { payload.appTransactionId }
    /// The environment.
    public var receiptType: AppStoreEnvironment? { payload.receiptType.flatMap(AppStoreEnvironment.init) }
    /// The Apple ID of the app; `nil` in the sandbox.
    public var appAppleId: Int64? { payload.appAppleId }
    /// The bundle identifier of the app.
    public var bundleId: String? { payload.bundleId }
    /// The version of the app that asked for it.
    public var applicationVersion: String? { payload.applicationVersion }
    /// The App Store's number of that version.
    public var versionExternalIdentifier: Int64? { payload.versionExternalIdentifier }
    /// When it was signed.
    public var receiptCreationDate: Date? { payload.receiptCreationDate.map { Date($0) } }
    /// When the customer first got the app.
    public var originalPurchaseDate: Date? { payload.originalPurchaseDate.map { Date($0) } }
    /// The version of the app that the customer first got.
    public var originalApplicationVersion: String? { payload.originalApplicationVersion }
    /// `iOS`, `macOS`, `tvOS` or `visionOS`.
    public var originalPlatform: String? { payload.originalPlatform }
    /// When the customer ordered the app before its release.
    public var preorderDate: Date? { payload.preorderDate.map { Date($0) } }
    /// A value that ties it to a device, which only the device can verify.
    public var deviceVerification: String? { payload.deviceVerification }
    /// An input of ``deviceVerification``.
    public var deviceVerificationNonce: String? { payload.deviceVerificationNonce }
}
