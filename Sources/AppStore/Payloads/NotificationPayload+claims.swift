package import JSONReading
package import StoreTypes

extension NotificationPayload: SignedClaims {
    /// Reads every field declared in the type. `claims` keeps the whole document.
    package init(_ object: JSONObject) throws(JSONFieldError) {
        notificationType = try object.text("notificationType")
        let subtype = try object.text("subtype")
        self.subtype = subtype == "" ? nil : subtype
        notificationUUID = try object.text("notificationUUID")
        version = try object.text("version")
        signedDate = try object.date("signedDate")
        data = try object.object("data").map { nested throws(JSONFieldError) in try PurchaseData(nested) }
        summary = try object.object("summary").map { nested throws(JSONFieldError) in try ExtensionSummary(nested) }
        externalPurchaseToken = try object.object("externalPurchaseToken").map { nested throws(JSONFieldError) in
            try ExternalPurchaseToken(nested)
        }
        appData = try object.object("appData").map { nested throws(JSONFieldError) in try AppData(nested) }
        claims = object.bytes
    }

    /// The time of signing.
    package var signingDate: Timestamp? { signedDate }
    /// The bundle identifier of the app.
    package var claimedBundleId: String? {
        data?.bundleId ?? summary?.bundleId ?? externalPurchaseToken?.bundleId ?? appData?.bundleId
    }
    /// The Apple ID of the app.
    package var claimedAppAppleId: Int64? {
        data?.appAppleId ?? summary?.appAppleId ?? externalPurchaseToken?.appAppleId ?? appData?.appAppleId
    }
    /// The App Store environment.
    package var claimedEnvironment: String? {
        data?.environment ?? summary?.environment ?? appData?.environment ?? externalPurchaseToken?.environment
    }
}

extension NotificationPayload.PurchaseData {
    init(_ object: JSONObject) throws(JSONFieldError) {
        appAppleId = try object.integer("appAppleId")
        bundleId = try object.text("bundleId")
        bundleVersion = try object.text("bundleVersion")
        environment = try object.text("environment")
        status = try object.integer("status")
        consumptionRequestReason = try object.text("consumptionRequestReason")
        signedTransactionInfo = try object.text("signedTransactionInfo")
        signedRenewalInfo = try object.text("signedRenewalInfo")
    }
}

extension NotificationPayload.ExtensionSummary {
    init(_ object: JSONObject) throws(JSONFieldError) {
        environment = try object.text("environment")
        appAppleId = try object.integer("appAppleId")
        bundleId = try object.text("bundleId")
        productId = try object.text("productId")
        requestIdentifier = try object.text("requestIdentifier")
        storefrontCountryCodes = try object.texts("storefrontCountryCodes")
        succeededCount = try object.integer("succeededCount")
        failedCount = try object.integer("failedCount")
    }
}

extension NotificationPayload.ExternalPurchaseToken {
    init(_ object: JSONObject) throws(JSONFieldError) {
        externalPurchaseId = try object.text("externalPurchaseId")
        tokenCreationDate = try object.date("tokenCreationDate")
        appAppleId = try object.integer("appAppleId")
        bundleId = try object.text("bundleId")
        tokenType = try object.text("tokenType")
        tokenExpirationDate = try object.date("tokenExpirationDate")
    }
}

extension NotificationPayload.AppData {
    init(_ object: JSONObject) throws(JSONFieldError) {
        appAppleId = try object.integer("appAppleId")
        bundleId = try object.text("bundleId")
        environment = try object.text("environment")
        signedAppTransactionInfo = try object.text("signedAppTransactionInfo")
    }
}

extension NotificationPayload.ExternalPurchaseToken {
    /// Derived from the prefix of the identifier alone, as in Apple's own library.
    package var environment: String? {
        externalPurchaseId.map { $0.hasPrefix("SANDBOX") ? "Sandbox" : "Production" }
    }
}
