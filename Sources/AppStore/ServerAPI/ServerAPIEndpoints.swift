/// An endpoint of the App Store Server API with its rate limit.
///
/// https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits
package struct ServerAPIEndpoint: Sendable, Hashable {
    /// The name used in metrics.
    package let name: String
    /// The number of requests per second that Apple allows an app in production, counted by the hour. The sandbox
    /// allows a tenth.
    package let requestsPerSecond: Int

    private init(_ name: String, _ requestsPerSecond: Int) {
        self.name = name
        self.requestsPerSecond = requestsPerSecond
    }

    package static let transactionInfo = Self("transactionInfo", 50)
    /// Get Transaction History, version 2.
    package static let history = Self("history", 50)
    package static let statuses = Self("statuses", 50)
    package static let appTransactionInfo = Self("appTransactionInfo", 50)
    package static let consumption = Self("consumption", 50)
    package static let notificationHistory = Self("notificationHistory", 50)
    package static let extend = Self("extend", 20)
    package static let appAccountToken = Self("appAccountToken", 20)
    package static let orderLookup = Self("orderLookup", 10)
    /// Get Refund History, version 2.
    package static let refundHistory = Self("refundHistory", 10)
    /// Extend Subscription Renewal Dates for All Active Subscribers, and its status.
    package static let massExtend = Self("massExtend", 1)
    /// Request a Test Notification, and its status.
    package static let testNotification = Self("testNotification", 1)

    package static let all: [Self] = [
        transactionInfo, history, statuses, appTransactionInfo, consumption, notificationHistory, extend,
        appAccountToken, orderLookup, refundHistory, massExtend, testNotification,
    ]
}
