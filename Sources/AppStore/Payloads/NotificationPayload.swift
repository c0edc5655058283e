package import StoreTypes

/// What an App Store Server Notification (version 2) says. Exactly one of `data`, `summary`, `externalPurchaseToken` and
/// `appData` is there; the signed texts in them are to be verified each by itself.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload
package struct NotificationPayload: Sendable, Hashable {
    /// As `DID_RENEW`; new ones come along.
    package var notificationType: String?
    /// Nil where there is none; an empty text counts as none.
    package var subtype: String?
    /// The same for every delivery of one notification: repeats are told by it.
    package var notificationUUID: String?
    /// `2.0`.
    package var version: String?
    /// When the App Store signed this; missing in genuine ones of 2022.
    package var signedDate: Timestamp?

    /// A purchase, or a test.
    package var data: PurchaseData?
    /// The end of an extension for all subscribers.
    package var summary: ExtensionSummary?
    /// A purchase outside the App Store to be reported.
    package var externalPurchaseToken: ExternalPurchaseToken?
    /// A parent's consent was taken back.
    package var appData: AppData?

    /// The payload as it was signed, JSON: what has no field here survives in it.
    package var claims: [UInt8] = []

    /// One that says nothing.
    package init() {}
}

extension NotificationPayload {
    /// https://developer.apple.com/documentation/appstoreservernotifications/data
    package struct PurchaseData: Sendable, Hashable {
        /// Missing in the sandbox.
        package var appAppleId: Int64?
        /// The app.
        package var bundleId: String?
        /// The app's version at the time of the event.
        package var bundleVersion: String?
        /// `Production` or `Sandbox`.
        package var environment: String?
        /// 1 to 5, of auto-renewables: as in `SubscriptionRecord`.
        package var status: Int64?
        /// With `CONSUMPTION_REQUEST`.
        package var consumptionRequestReason: String?
        /// A signed `TransactionPayload`; not in tests.
        package var signedTransactionInfo: String?
        /// A signed `RenewalPayload`, of auto-renewables.
        package var signedRenewalInfo: String?

        /// One that says nothing.
        package init() {}
    }

    /// https://developer.apple.com/documentation/appstoreservernotifications/summary
    package struct ExtensionSummary: Sendable, Hashable {
        /// `Production` or `Sandbox`.
        package var environment: String?
        /// Missing in the sandbox.
        package var appAppleId: Int64?
        /// The app.
        package var bundleId: String?
        /// The subscription that was extended.
        package var productId: String?
        /// The request's own UUID.
        package var requestIdentifier: String?
        /// Countries; nil when all.
        package var storefrontCountryCodes: [String]?
        /// Subscriptions that were extended.
        package var succeededCount: Int64?
        /// Subscriptions that were not.
        package var failedCount: Int64?

        /// One that says nothing.
        package init() {}
    }

    /// https://developer.apple.com/documentation/appstoreservernotifications/externalpurchasetoken
    package struct ExternalPurchaseToken: Sendable, Hashable {
        /// Begins with `SANDBOX` in the sandbox: the only sign of the environment.
        package var externalPurchaseId: String?
        /// When the token was made.
        package var tokenCreationDate: Timestamp?
        /// The app's number.
        package var appAppleId: Int64?
        /// The app.
        package var bundleId: String?
        /// `SERVICES` or `ACQUISITION`, of custom links.
        package var tokenType: String?
        /// Of custom links.
        package var tokenExpirationDate: Timestamp?

        /// One that says nothing.
        package init() {}
    }

    /// https://developer.apple.com/documentation/appstoreservernotifications/appdata
    package struct AppData: Sendable, Hashable {
        /// Missing in the sandbox.
        package var appAppleId: Int64?
        /// The app.
        package var bundleId: String?
        /// `Production` or `Sandbox`.
        package var environment: String?
        /// A signed `AppTransactionPayload`.
        package var signedAppTransactionInfo: String?

        /// One that says nothing.
        package init() {}
    }
}
