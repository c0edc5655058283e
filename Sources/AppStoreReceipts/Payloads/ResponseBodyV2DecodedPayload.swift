import ReceiptBridgeReceipts
public import Foundation

/// The authentic payload of an App Store Server Notification, with every JWS inside it verified. Only
/// ``SignedDataVerifier`` creates it.
///
/// The members of `data`, or of the container that is there instead, are properties of the notification. Any property
/// may be absent. [Apple's documentation](
/// https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload)
public struct ResponseBodyV2DecodedPayload: Sendable {
    let verified: VerifiedNotification
    private var payload: NotificationPayload { verified.notification.payload }
    private var data: NotificationPayload.PurchaseData? { payload.data ?? payload.unknownContainer }

    /// The JWS.
    public var signedPayload: String { verified.notification.text }
    /// The payload as signed, in JSON. Members without a property here are in it, for example `summary`.
    public var claims: Data { Data(payload.claims) }

    /// The event.
    public var notificationType: NotificationTypeV2? { payload.notificationType.map(NotificationTypeV2.init) }
    /// The detail of the event.
    public var subtype: Subtype? { payload.subtype.map(Subtype.init) }
    /// The notification. It is the same in every delivery, so duplicates are detected by it.
    public var notificationUUID: String? { payload.notificationUUID }
    /// The version, `2.0`.
    public var version: String? { payload.version }
    /// When it was signed.
    public var signedDate: Date? { payload.signedDate.map { Date($0) } }
    /// The bundle identifier of the app.
    public var bundleId: String? { payload.claimedBundleId }
    /// The Apple ID of the app; `nil` in the sandbox.
    public var appAppleId: Int64? { payload.claimedAppAppleId }
    /// The environment.
    public var environment: AppStoreEnvironment? { payload.claimedEnvironment.flatMap(AppStoreEnvironment.init) }
    /// The version of the app at the time of the event.
    public var bundleVersion: String? { data?.bundleVersion }
    /// The state of the subscription.
    public var status: Status? { data?.status.map(Status.init) }
    /// Why the customer asks for a refund, with `CONSUMPTION_REQUEST`.
    public var consumptionRequestReason: String? { data?.consumptionRequestReason }
    /// `signedTransactionInfo`, verified.
    public var transaction: JWSTransactionDecodedPayload? {
        verified.transaction.map(JWSTransactionDecodedPayload.init)
    }
    /// `signedRenewalInfo`, verified.
    public var renewalInfo: JWSRenewalInfoDecodedPayload? { verified.renewal.map(JWSRenewalInfoDecodedPayload.init) }
    /// `signedAppTransactionInfo`, verified.
    public var appTransaction: AppTransaction? { verified.appTransaction.map(AppTransaction.init) }
}
