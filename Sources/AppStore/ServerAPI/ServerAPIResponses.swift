package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

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

    init(_ members: inout ClaimReader) throws(JSONFieldError) {
        revision = try members.object.identifier("revision")
        hasMore = try members.object.truth("hasMore") ?? false
        bundleId = try members.object.text("bundleId")
        appAppleId = members.integer("appAppleId")
        environment = try members.object.text("environment")
        signedTransactions = try members.object.texts("signedTransactions") ?? []
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

    init(_ members: inout ClaimReader) throws(JSONFieldError) {
        bundleId = try members.object.text("bundleId")
        environment = try members.object.text("environment")
        items = try members.elements("data") { group throws(JSONFieldError) in
            let identifier = group.text("subscriptionGroupIdentifier")
            return try group.elements("lastTransactions") { item throws(JSONFieldError) in
                let item = item.object
                return Item(
                    group: identifier, originalTransactionId: try item.identifier("originalTransactionId"),
                    status: try item.number("status"), signedTransaction: try item.text("signedTransactionInfo"),
                    signedRenewal: try item.text("signedRenewalInfo"))
            }
        }.flatMap { $0 }
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
    package let originalTransactionId: String?
    /// The subscription period that was extended.
    package let webOrderLineItemId: String?
    package let success: Bool
    package let effectiveDate: Timestamp?

    init(_ members: inout ClaimReader) throws(JSONFieldError) {
        originalTransactionId = members.text("originalTransactionId")
        webOrderLineItemId = members.text("webOrderLineItemId")
        success = try members.object.truth("success") ?? false
        effectiveDate = members.date("effectiveDate")
    }
}

/// The progress of an extension for all subscribers.
///
/// https://developer.apple.com/documentation/appstoreserverapi/massextendrenewaldatestatusresponse
package struct MassExtensionStatus: Sendable, Hashable {
    package let requestIdentifier: String?
    /// True if the extension is complete. The other members are meaningful only then.
    package let complete: Bool
    package let completeDate: Timestamp?
    /// The number of subscriptions that were extended.
    package let succeededCount: Int64?
    /// The number of subscriptions that could not be extended.
    package let failedCount: Int64?

    init(_ members: inout ClaimReader) throws(JSONFieldError) {
        requestIdentifier = members.text("requestIdentifier")
        complete = try members.object.truth("complete") ?? false
        completeDate = members.date("completeDate")
        succeededCount = members.integer("succeededCount")
        failedCount = members.integer("failedCount")
    }
}

/// An attempt to deliver a notification.
///
/// https://developer.apple.com/documentation/appstoreserverapi/sendattemptitem
package struct SendAttempt: Sendable, Hashable {
    package let attemptDate: Timestamp?
    /// The result, for example `SUCCESS` or `TIMED_OUT`.
    package let sendAttemptResult: String?

    static func all(in members: inout ClaimReader) -> [SendAttempt] {
        members.optionalElements("sendAttempts") {
            SendAttempt(attemptDate: $0.date("attemptDate"), sendAttemptResult: $0.text("sendAttemptResult"))
        }
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

    init(_ members: inout ClaimReader) throws(JSONFieldError) {
        signedPayload = try members.object.text("signedPayload")
        sendAttempts = SendAttempt.all(in: &members)
    }
}

/// A page of the notification history.
///
/// https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryresponse
package struct NotificationPage: Sendable, Hashable {
    /// At most 20 notifications.
    package let records: [NotificationRecord]
    package let hasMore: Bool
    /// The token for the next page, which must be requested with the same query.
    package let paginationToken: String?

    init(_ members: inout ClaimReader) throws(JSONFieldError) {
        records = try members.elements("notificationHistory", NotificationRecord.init)
        hasMore = try members.object.truth("hasMore") ?? false
        paginationToken = try members.object.identifier("paginationToken")
    }
}
