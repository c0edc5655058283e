package import AppStore
package import StoreTypes

/// Everything that a body of version 1 is written from.
package struct NotificationV1: Sendable {
    package var type: NotificationV1Type
    package var bundleId: String
    package var environment: AppStoreEnvironment
    /// The app's version at the time of the event.
    package var bundleVersion: String?
    /// The consumer's shared secret.
    package var password: SharedSecret?
    /// The event's own.
    package var transaction: TransactionPayload?
    /// The event's own.
    package var renewal: RenewalPayload?
    /// In place of what the renewal's record says of going on.
    package var renews: Bool?
    /// When the customer last switched the renewal on or off; nil where that is not known.
    package var statusChangedAt: Timestamp?
    /// All of the customer's, the event's own among them.
    package var transactions: [TransactionPayload]
    /// One of each subscription, in the order of the statuses' answer.
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
