package import ReceiptBridgeBase

/// A stored notification without its text.
package struct NotificationSummary: Sendable, Hashable {
    package let id: Int64
    /// Apple's `notificationUUID`. Version 1: a digest of the body.
    package let uuid: String
    /// Version of App Store Server Notifications, 1 or 2; ``CustomerReport/version`` for a report.
    package let version: Int
    package let type: String?
    package let subtype: String?
    package let scope: AppScope
    package let signedDate: Timestamp?
    package let receivedAt: Timestamp
    /// Of the purchase that it is about; `nil` if it is about none.
    package let originalTransactionId: String?
}

/// A stored notification.
package struct StoredNotification: Sendable, Hashable {
    package let summary: NotificationSummary
    /// Version 2: the compact JWS. Version 1: transaction ids, separated by spaces.
    package let text: String
    /// The body as it was received, if it is not `{"signedPayload":"<text>"}` and was stored.
    package let rawBody: [UInt8]?
}

/// Which notifications to list. Members that are `nil` do not restrict the list.
package struct NotificationFilter: Sendable, Hashable {
    package var bundleId: BundleIdentifier?
    package var environment: AppStoreEnvironment?
    package var type: String?
    /// Only notifications received at this time or later.
    package var since: Timestamp?
    /// Only notifications about these purchases, by original transaction id.
    package var purchases: [String]?

    package init() {}
}
