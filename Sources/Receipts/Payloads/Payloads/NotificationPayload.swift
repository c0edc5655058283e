package import ReceiptBridgeBase

/// The payload of an App Store Server Notification, version 2.
///
/// Exactly one of `data`, `summary`, `externalPurchaseToken` and `appData` is present. The JWS inside them
/// must be verified separately.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload
package struct NotificationPayload: Sendable, Hashable {
    /// The notification type, for example `DID_RENEW`. Apple adds new ones from time to time.
    package var notificationType: String?
    /// The subtype; `nil` if it is absent or empty.
    package var subtype: String?
    /// The identifier of the notification. It is the same in every delivery, so duplicates are detected by it.
    package var notificationUUID: String?
    /// The version, `2.0`.
    package var version: String?
    /// The time of signing; missing in authentic notifications from 2022.
    package var signedDate: Timestamp?

    /// Present for purchases and tests.
    package var data: PurchaseData?
    /// Present at the end of a renewal extension for all subscribers.
    package var summary: ExtensionSummary?
    /// Present if a purchase outside the App Store must be reported.
    package var externalPurchaseToken: ExternalPurchaseToken?
    /// Present if a parent's consent was withdrawn.
    package var appData: AppData?
    /// The container of a notification that has none of these: a member of another name that tells the app and the
    /// environment. Its other members are read as in ``data``.
    package var unknownContainer: PurchaseData?

    package var claims: [UInt8] = []

    package init() {}
}

extension NotificationPayload {
    /// Information about a purchase.
    ///
    /// https://developer.apple.com/documentation/appstoreservernotifications/data
    package struct PurchaseData: Sendable, Hashable {
        /// The Apple ID of the app; missing in the sandbox.
        package var appAppleId: Int64?
        package var bundleId: String?
        /// The version of the app at the time of the event.
        package var bundleVersion: String?
        /// `Production` or `Sandbox`.
        package var environment: String?
        /// 1 to 5, as in `SubscriptionRecord`; only for auto-renewable subscriptions.
        package var status: Int64?
        /// Present with `CONSUMPTION_REQUEST`.
        package var consumptionRequestReason: String?
        /// A signed `TransactionPayload`; absent in test notifications.
        package var signedTransactionInfo: String?
        /// A signed `RenewalPayload`; only for auto-renewable subscriptions.
        package var signedRenewalInfo: String?

        package init() {}
    }

    /// The result of a renewal extension for all subscribers.
    ///
    /// https://developer.apple.com/documentation/appstoreservernotifications/summary
    package struct ExtensionSummary: Sendable, Hashable {
        /// `Production` or `Sandbox`.
        package var environment: String?
        /// The Apple ID of the app; missing in the sandbox.
        package var appAppleId: Int64?
        package var bundleId: String?
        package var productId: String?
        /// The UUID of the extension request.
        package var requestIdentifier: String?
        /// Storefront country codes; `nil` means all countries.
        package var storefrontCountryCodes: [String]?
        package var succeededCount: Int64?
        package var failedCount: Int64?

        package init() {}
    }

    /// A token for a purchase outside the App Store.
    ///
    /// https://developer.apple.com/documentation/appstoreservernotifications/externalpurchasetoken
    package struct ExternalPurchaseToken: Sendable, Hashable {
        /// The identifier of the token. It begins with `SANDBOX` in the sandbox, which is the only sign of the
        /// environment.
        package var externalPurchaseId: String?
        package var tokenCreationDate: Timestamp?
        package var appAppleId: Int64?
        package var bundleId: String?
        /// `SERVICES` or `ACQUISITION`; only for custom links.
        package var tokenType: String?
        /// The time when the token expires; only for custom links.
        package var tokenExpirationDate: Timestamp?

        package init() {}
    }

    /// Information about a withdrawn consent.
    ///
    /// https://developer.apple.com/documentation/appstoreservernotifications/appdata
    package struct AppData: Sendable, Hashable {
        /// The Apple ID of the app; missing in the sandbox.
        package var appAppleId: Int64?
        package var bundleId: String?
        /// `Production` or `Sandbox`.
        package var environment: String?
        /// A signed `AppTransactionPayload`.
        package var signedAppTransactionInfo: String?

        package init() {}
    }
}

extension NotificationPayload: SignedClaims {
    package static let kinds: [SignedKind] = [.notification]

    package init(_ claims: inout ClaimReader) throws(JSONFieldError) {
        notificationType = try claims.object.text("notificationType")
        let subtype = claims.text("subtype")
        self.subtype = subtype == "" ? nil : subtype
        notificationUUID = try claims.object.text("notificationUUID")
        version = claims.text("version")
        signedDate = try claims.object.date("signedDate")
        data = try claims.required("data", PurchaseData.init)
        summary = try claims.required("summary", ExtensionSummary.init)
        externalPurchaseToken = try claims.required("externalPurchaseToken", ExternalPurchaseToken.init)
        appData = try claims.required("appData", AppData.init)
        if !hasKnownContainer { unknownContainer = Self.unknownContainer(in: claims.object) }
        self.claims = claims.object.bytes
    }

    package var signingDate: Timestamp? { signedDate }
    package var claimedBundleId: String? {
        data?.bundleId ?? summary?.bundleId ?? externalPurchaseToken?.bundleId ?? appData?.bundleId
            ?? unknownContainer?.bundleId
    }
    package var claimedAppAppleId: Int64? {
        data?.appAppleId ?? summary?.appAppleId ?? externalPurchaseToken?.appAppleId ?? appData?.appAppleId
            ?? unknownContainer?.appAppleId
    }
    package var claimedEnvironment: String? {
        data?.environment ?? summary?.environment ?? appData?.environment ?? externalPurchaseToken?.environment
            ?? unknownContainer?.environment
    }
}

extension NotificationPayload {
    package var hasKnownContainer: Bool {
        data != nil || summary != nil || externalPurchaseToken != nil || appData != nil
    }

    /// Reads the first member that names an app and an environment of the App Store, whatever its name.
    private static func unknownContainer(in object: JSONObject) -> PurchaseData? {
        for member in object.objectMembers {
            var claims = ClaimReader(member)
            guard let container = try? PurchaseData(&claims), container.bundleId != nil,
                ["Production", "Sandbox"].contains(container.environment)
            else { continue }
            return container
        }
        return nil
    }
}

extension NotificationPayload.PurchaseData {
    init(_ claims: inout ClaimReader) throws(JSONFieldError) {
        appAppleId = try claims.object.number("appAppleId")
        bundleId = try claims.object.text("bundleId")
        bundleVersion = claims.text("bundleVersion")
        environment = try claims.object.text("environment")
        status = claims.integer("status")
        consumptionRequestReason = claims.text("consumptionRequestReason")
        signedTransactionInfo = try claims.object.text("signedTransactionInfo")
        signedRenewalInfo = try claims.object.text("signedRenewalInfo")
    }
}

extension NotificationPayload.ExtensionSummary {
    init(_ claims: inout ClaimReader) throws(JSONFieldError) {
        environment = try claims.object.text("environment")
        appAppleId = try claims.object.number("appAppleId")
        bundleId = try claims.object.text("bundleId")
        productId = claims.text("productId")
        requestIdentifier = claims.text("requestIdentifier")
        storefrontCountryCodes = claims.texts("storefrontCountryCodes")
        succeededCount = claims.integer("succeededCount")
        failedCount = claims.integer("failedCount")
    }
}

extension NotificationPayload.ExternalPurchaseToken {
    init(_ claims: inout ClaimReader) throws(JSONFieldError) {
        externalPurchaseId = try claims.object.text("externalPurchaseId")
        tokenCreationDate = claims.date("tokenCreationDate")
        appAppleId = try claims.object.number("appAppleId")
        bundleId = try claims.object.text("bundleId")
        tokenType = claims.text("tokenType")
        tokenExpirationDate = claims.date("tokenExpirationDate")
    }
}

extension NotificationPayload.AppData {
    init(_ claims: inout ClaimReader) throws(JSONFieldError) {
        appAppleId = try claims.object.number("appAppleId")
        bundleId = try claims.object.text("bundleId")
        environment = try claims.object.text("environment")
        signedAppTransactionInfo = try claims.object.text("signedAppTransactionInfo")
    }
}

extension NotificationPayload.ExternalPurchaseToken {
    /// Derived from the prefix of the identifier alone, as in Apple's own library.
    package var environment: String? {
        externalPurchaseId.map { $0.hasPrefix("SANDBOX") ? "Sandbox" : "Production" }
    }
}
