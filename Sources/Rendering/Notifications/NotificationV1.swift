package import AppStore
package import StoreTypes

/// The data from which the body of a version 1 notification is written.
package struct NotificationV1: Sendable {
    package var type: NotificationV1Type
    package var bundleId: String
    package var environment: AppStoreEnvironment
    /// The app's version at the time of the event.
    package var bundleVersion: String?
    /// The consumer's shared secret.
    package var password: SharedSecret?
    /// The transaction of the event.
    package var transaction: TransactionPayload?
    /// The renewal of the event.
    package var renewal: RenewalPayload?
    /// The renewal state to write instead of the one in the renewal record.
    package var renews: Bool?
    /// When the customer last turned the renewal on or off; `nil` if this is unknown.
    package var statusChangedAt: Timestamp?
    /// All transactions of the customer, including the transaction of the event.
    package var transactions: [TransactionPayload]
    /// The renewal of each subscription, in the order of Apple's status response.
    package var renewals: [RenewalPayload]

    package init(
        type: NotificationV1Type, bundleId: String, environment: AppStoreEnvironment,
        transactions: [TransactionPayload] = [], renewals: [RenewalPayload] = []
    ) {
        self.type = type
        self.bundleId = bundleId
        self.environment = environment
        self.transactions = transactions
        self.renewals = renewals
    }
}
