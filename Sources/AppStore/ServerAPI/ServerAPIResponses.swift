import JSONReading
package import StoreTypes

/// A page of a history of transactions or refunds, nothing verified.
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

/// Where all subscriptions of a customer stand, nothing verified.
///
/// https://developer.apple.com/documentation/appstoreserverapi/statusresponse
struct StatusesAnswer: Sendable {
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
    /// 0: the order has purchases of this app; any other number: it has none.
    package let status: Int64
    /// Empty but for status 0.
    package let transactions: [Signed<TransactionPayload>]
}

/// Whether a renewal date was moved.
///
/// https://developer.apple.com/documentation/appstoreserverapi/extendrenewaldateresponse
package struct ExtensionResult: Sendable, Hashable {
    /// The subscription.
    package let originalTransactionId: String?
    /// Its period.
    package let webOrderLineItemId: String?
    /// Nothing was moved unless it is true.
    package let success: Bool
    /// The new end.
    package let effectiveDate: Timestamp?

    init(_ object: JSONObject) throws(JSONFieldError) {
        originalTransactionId = try object.text("originalTransactionId")
        webOrderLineItemId = try object.text("webOrderLineItemId")
        success = try object.flag("success") ?? false
        effectiveDate = try object.date("effectiveDate")
    }
}

/// How far an extension for all subscribers is.
///
/// https://developer.apple.com/documentation/appstoreserverapi/massextendrenewaldatestatusresponse
package struct MassExtensionStatus: Sendable, Hashable {
    /// The request.
    package let requestIdentifier: String?
    /// The other members mean something only when it is true.
    package let complete: Bool
    /// When it was done.
    package let completeDate: Timestamp?
    /// Subscriptions that were extended.
    package let succeededCount: Int64?
    /// Subscriptions that were not.
    package let failedCount: Int64?

    init(_ object: JSONObject) throws(JSONFieldError) {
        requestIdentifier = try object.text("requestIdentifier")
        complete = try object.flag("complete") ?? false
        completeDate = try object.date("completeDate")
        succeededCount = try object.integer("succeededCount")
        failedCount = try object.integer("failedCount")
    }
}

/// One try at delivering a notification.
///
/// https://developer.apple.com/documentation/appstoreserverapi/sendattemptitem
package struct SendAttempt: Sendable, Hashable {
    /// When.
    package let attemptDate: Timestamp?
    /// As `SUCCESS`, `TIMED_OUT`.
    package let sendAttemptResult: String?

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

/// A notification as Apple keeps it, not verified: `SignedPayloadVerifier.verifyNotification` does that.
///
/// https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryresponseitem
package struct NotificationRecord: Sendable, Hashable {
    /// A signed `NotificationPayload`.
    package let signedPayload: String?
    /// At most six, in no promised order.
    package let sendAttempts: [SendAttempt]

    init(_ object: JSONObject) throws(JSONFieldError) {
        signedPayload = try object.text("signedPayload")
        sendAttempts = try SendAttempt.all(in: object)
    }
}

/// A page of notifications.
///
/// https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryresponse
package struct NotificationPage: Sendable, Hashable {
    /// At most 20.
    package let records: [NotificationRecord]
    /// Whether there is another page.
    package let hasMore: Bool
    /// Asks for the next page, with the same query.
    package let paginationToken: String?

    init(_ object: JSONObject) throws(JSONFieldError) {
        var records: [NotificationRecord] = []
        for item in try object.objects("notificationHistory") ?? [] { records.append(try NotificationRecord(item)) }
        self.records = records
        hasMore = try object.flag("hasMore") ?? false
        paginationToken = try object.text("paginationToken")
    }
}
