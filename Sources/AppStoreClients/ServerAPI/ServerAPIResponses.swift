package import AppStorePayloads
import JSON
package import AppStoreTypes

/// A page of a transaction or refund history, not verified.
///
/// https://developer.apple.com/documentation/appstoreserverapi/historyresponse
struct HistoryPage: Sendable {
    let revision: String?
    let hasMore: Bool
    let bundleId: String?
    let appAppleId: Int64?
    let environment: String?
    let signedTransactions: [String]

    init(_ object: JSONObject) throws(JSONFieldError) {
        revision = try object.text("revision")
        hasMore = try object.flag("hasMore") ?? false
        bundleId = try object.text("bundleId")
        appAppleId = try object.integer("appAppleId")
        environment = try object.text("environment")
        signedTransactions = try object.texts("signedTransactions") ?? []
    }
}

/// The status of all subscriptions of a customer, not verified.
///
/// https://developer.apple.com/documentation/appstoreserverapi/statusresponse
struct StatusResponse: Sendable {
    struct Item: Sendable {
        let group: String?
        let originalTransactionId: String?
        let status: Int64?
        let signedTransaction: String?
        let signedRenewal: String?
    }

    let bundleId: String?
    let environment: String?
    let items: [Item]

    init(_ object: JSONObject) throws(JSONFieldError) {
        bundleId = try object.text("bundleId")
        environment = try object.text("environment")
        var items: [Item] = []
        for group in try object.objects("data") ?? [] {
            let identifier = try group.text("subscriptionGroupIdentifier")
            for item in try group.objects("lastTransactions") ?? [] {
                items.append(
                    Item(
                        group: identifier, originalTransactionId: try item.text("originalTransactionId"),
                        status: try item.integer("status"), signedTransaction: try item.text("signedTransactionInfo"),
                        signedRenewal: try item.text("signedRenewalInfo")))
            }
        }
        self.items = items
    }
}

/// The purchases of an order.
///
/// https://developer.apple.com/documentation/appstoreserverapi/orderlookupresponse
package struct OrderLookup: Sendable {
    /// 0 if the order has purchases of this app; any other number if it has none.
    package let status: Int64
    /// The purchases; empty unless the status is 0.
    package let transactions: [Signed<TransactionPayload>]
}

/// The result of a renewal extension.
///
/// https://developer.apple.com/documentation/appstoreserverapi/extendrenewaldateresponse
package struct ExtensionResult: Sendable, Hashable {
    /// The identifier of the subscription.
    package let originalTransactionId: String?
    /// The subscription period that was extended.
    package let webOrderLineItemId: String?
    /// True if the renewal date was extended.
    package let success: Bool
    /// The new renewal date.
    package let effectiveDate: Timestamp?

    init(_ object: JSONObject) throws(JSONFieldError) {
        originalTransactionId = try object.text("originalTransactionId")
        webOrderLineItemId = try object.text("webOrderLineItemId")
        success = try object.flag("success") ?? false
        effectiveDate = try object.date("effectiveDate")
    }
}

/// The progress of an extension for all subscribers.
///
/// https://developer.apple.com/documentation/appstoreserverapi/massextendrenewaldatestatusresponse
package struct MassExtensionStatus: Sendable, Hashable {
    /// The identifier of the request.
    package let requestIdentifier: String?
    /// True if the extension is complete. The other members are meaningful only then.
    package let complete: Bool
    /// The time of completion.
    package let completeDate: Timestamp?
    /// The number of subscriptions that were extended.
    package let succeededCount: Int64?
    /// The number of subscriptions that could not be extended.
    package let failedCount: Int64?

    init(_ object: JSONObject) throws(JSONFieldError) {
        requestIdentifier = try object.text("requestIdentifier")
        complete = try object.flag("complete") ?? false
        completeDate = try object.date("completeDate")
        succeededCount = try object.integer("succeededCount")
        failedCount = try object.integer("failedCount")
    }
}

/// An attempt to deliver a notification.
///
/// https://developer.apple.com/documentation/appstoreserverapi/sendattemptitem
package struct SendAttempt: Sendable, Hashable {
    /// The time of the attempt.
    package let attemptDate: Timestamp?
    /// The result, for example `SUCCESS` or `TIMED_OUT`.
    package let sendAttemptResult: String?

    /// The attempts in the member `sendAttempts`.
    static func all(in object: JSONObject) throws(JSONFieldError) -> [SendAttempt] {
        var attempts: [SendAttempt] = []
        for item in try object.objects("sendAttempts") ?? [] {
            attempts.append(
                SendAttempt(
                    attemptDate: try item.date("attemptDate"), sendAttemptResult: try item.text("sendAttemptResult")))
        }
        return attempts
    }
}

/// A notification from Apple's history, not verified. Use `SignedPayloadVerifier.verifyNotification` to verify it.
///
/// https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryresponseitem
package struct NotificationRecord: Sendable, Hashable {
    /// A signed `NotificationPayload`.
    package let signedPayload: String?
    /// At most six attempts, in no guaranteed order.
    package let sendAttempts: [SendAttempt]

    init(_ object: JSONObject) throws(JSONFieldError) {
        signedPayload = try object.text("signedPayload")
        sendAttempts = try SendAttempt.all(in: object)
    }
}

/// A page of the notification history.
///
/// https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryresponse
package struct NotificationPage: Sendable, Hashable {
    /// At most 20 notifications.
    package let records: [NotificationRecord]
    /// True if there is another page.
    package let hasMore: Bool
    /// The token for the next page, which must be requested with the same query.
    package let paginationToken: String?

    init(_ object: JSONObject) throws(JSONFieldError) {
        var records: [NotificationRecord] = []
        for item in try object.objects("notificationHistory") ?? [] { records.append(try NotificationRecord(item)) }
        self.records = records
        hasMore = try object.flag("hasMore") ?? false
        paginationToken = try object.text("paginationToken")
    }
}
