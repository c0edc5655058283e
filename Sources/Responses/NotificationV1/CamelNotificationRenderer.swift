package import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// Writes a verified notification as one camelCase event: with Apple's names, dates as numbers of milliseconds, and
/// the signed parts decoded.
///
/// ```
/// { notificationUUID, notificationType, subtype?, signedDate?, environment?, bundleId?, appAppleId?, bundleVersion?,
///   status?, consumptionRequestReason?, transaction?: {…}, renewalInfo?: {…}, summary?: {…},
///   externalPurchaseToken?: {…}, appData?: {…}, customer?: { appAccountToken }, verified: true }
/// ```
///
/// `customer` is not in the notification: see ``appAccountToken(of:)``. `transaction` and `renewalInfo` are the signed
/// payloads unchanged, and the other objects are copied from the notification, so that members unknown to this program
/// are preserved.
package struct CamelNotificationRenderer: Sendable {
    package init() {}

    /// - Parameters:
    ///   - uuid: the id under which the notification is stored, used if the notification has no `notificationUUID`.
    ///   - appAccountToken: the account token of the customer; `nil` if it is not known.
    package func render(_ verified: VerifiedNotification, uuid: String, appAccountToken: String? = nil) -> [UInt8] {
        let payload = verified.notification.payload
        let (transaction, renewal) = (verified.transaction?.payload.claims, verified.renewal?.payload.claims)
        let size = 1_024 + (transaction?.count ?? 0) + (renewal?.count ?? 0)
        return JSONWriter.object(reserving: size) { writer in
            writer.member("notificationUUID", payload.notificationUUID ?? uuid)
            writer.member("notificationType", ifPresent: payload.notificationType)
            writer.member("subtype", ifPresent: payload.subtype)
            writer.member("signedDate", ifPresent: payload.signedDate?.milliseconds)
            writer.member("environment", ifPresent: payload.claimedEnvironment)
            writer.member("bundleId", ifPresent: payload.claimedBundleId)
            writer.member("appAppleId", ifPresent: payload.claimedAppAppleId)
            writer.member("bundleVersion", ifPresent: payload.data?.bundleVersion)
            writer.member("status", ifPresent: payload.data?.status)
            writer.member("consumptionRequestReason", ifPresent: payload.data?.consumptionRequestReason)
            writer.member("transaction", ifPresent: transaction)
            writer.member("renewalInfo", ifPresent: renewal)
            let object = try? JSONObject(payload.claims)
            writer.member("summary", ifPresent: object?.rawJSON("summary"))
            writer.member("externalPurchaseToken", ifPresent: object?.rawJSON("externalPurchaseToken"))
            writer.member("appData", ifPresent: object?.rawJSON("appData"))
            if let appAccountToken {
                writer.object("customer") { $0.member("appAccountToken", appAccountToken) }
            }
            writer.member("verified", true)
        }
    }

    /// Returns the account token in a notification: of its transaction, otherwise of its renewal info.
    package static func appAccountToken(of verified: VerifiedNotification) -> String? {
        [verified.transaction?.payload.appAccountToken, verified.renewal?.payload.appAccountToken]
            .lazy.compactMap(\.self).first { !$0.isEmpty }
    }
}

extension CustomerRecords {
    /// The account token of the customer: that of the first transaction with one, by purchase date and id.
    package var appAccountToken: String? {
        let rows = transactions.indices.lazy.map { LatestRow(transactions[$0].payload, at: $0) }
        return rows.filter { transactions[$0.index].payload.appAccountToken?.isEmpty == false }.min()
            .flatMap { transactions[$0.index].payload.appAccountToken }
    }
}

extension NotificationType {
    /// The names of both versions. Source of `RENEWAL`: Apple, "notification_type" of version 1.
    private static let names = Set(documented.map(\.type) + NotificationV1Type.allCases.map(\.rawValue) + ["RENEWAL"])

    /// Returns a sentence about a name that is not a type of either version; `nil` for a type.
    package static func unknown(_ name: String) -> String? {
        names.contains(name) ? nil : "\(name) is not a type of Apple's\(name.didYouMean(names))"
    }

    /// Returns a sentence about a name that is most likely a misspelling; `nil` for a type of Apple's, and for a name
    /// that resembles none, which may be a new one.
    package static func misspelling(_ name: String) -> String? {
        name.didYouMean(names).isEmpty ? nil : unknown(name)
    }
}
