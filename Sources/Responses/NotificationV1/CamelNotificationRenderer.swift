package import AppStorePayloads
import AppStoreClients
import JSON
import AppStoreTypes

/// Writes a verified notification as one camelCase event: with Apple's names, dates as numbers of milliseconds, and
/// the signed parts decoded.
///
/// ```
/// { notificationUUID, notificationType, subtype?, signedDate?, environment?, bundleId?, appAppleId?, bundleVersion?,
///   status?, consumptionRequestReason?, transaction?: {…}, renewalInfo?: {…}, summary?: {…},
///   externalPurchaseToken?: {…}, appData?: {…}, verified: true }
/// ```
///
/// `transaction` and `renewalInfo` are the signed payloads unchanged, and the other objects are copied from the
/// notification, so that members unknown to this program are preserved.
package struct CamelNotificationRenderer: Sendable {
    package init() {}

    /// Returns the JSON text.
    ///
    /// - Parameter uuid: the id under which the notification is stored, used if the notification has no
    ///   `notificationUUID`.
    package func render(_ verified: VerifiedNotification, uuid: String) -> [UInt8] {
        let payload = verified.notification.payload
        let (transaction, renewal) = (verified.transaction?.payload.claims, verified.renewal?.payload.claims)
        var writer = JSONWriter(reserving: 1_024 + (transaction?.count ?? 0) + (renewal?.count ?? 0))
        writer.beginObject()
        writer.member("notificationUUID", payload.notificationUUID ?? uuid)
        writer.member("notificationType", payload.notificationType)
        writer.member("subtype", payload.subtype)
        writer.member("signedDate", payload.signedDate?.milliseconds)
        writer.member("environment", payload.claimedEnvironment)
        writer.member("bundleId", payload.claimedBundleId)
        writer.member("appAppleId", payload.claimedAppAppleId)
        writer.member("bundleVersion", payload.data?.bundleVersion)
        writer.member("status", payload.data?.status)
        writer.member("consumptionRequestReason", payload.data?.consumptionRequestReason)
        writer.member("transaction", json: transaction)
        writer.member("renewalInfo", json: renewal)
        let object = try? JSONObject(payload.claims)
        writer.member("summary", json: object?.rawJSON("summary"))
        writer.member("externalPurchaseToken", json: object?.rawJSON("externalPurchaseToken"))
        writer.member("appData", json: object?.rawJSON("appData"))
        writer.key("verified")
        writer.value(true)
        writer.endObject()
        return writer.finish()
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: String, _ text: String?) {
        guard let text else { return }
        key(name)
        value(text)
    }

    fileprivate mutating func member(_ name: String, _ number: Int64?) {
        guard let number else { return }
        key(name)
        value(number)
    }

    fileprivate mutating func member(_ name: String, json: [UInt8]?) {
        guard let json, !json.isEmpty else { return }
        key(name)
        values(json: json)
    }
}
