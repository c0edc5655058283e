package import StoreTypes

/// All that the App Store Server API told of one customer of one app, verified.
package struct CustomerRecords: Sendable {
    /// The environment that knew the customer.
    package let environment: AppStoreEnvironment
    /// As the answer says; nil where it says nothing.
    package let bundleId: String?
    /// Missing in the sandbox.
    package let appAppleId: Int64?
    /// The history, a transaction once, in the order of its last change.
    package let transactions: [Signed<TransactionPayload>]
    /// One element per subscription, in the order of the statuses' answer.
    package let subscriptions: [SubscriptionRecord]
    /// Of the last page: asks only for changes the next time.
    package let revision: String?
    /// What is odd about the answers, though they can be used.
    package let anomalies: [RecordAnomaly]

    /// Records; what is signed in them was verified.
    package init(
        environment: AppStoreEnvironment, bundleId: String?, appAppleId: Int64?,
        transactions: [Signed<TransactionPayload>], subscriptions: [SubscriptionRecord], revision: String?,
        anomalies: [RecordAnomaly] = []
    ) {
        self.environment = environment
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.transactions = transactions
        self.subscriptions = subscriptions
        self.revision = revision
        self.anomalies = anomalies
    }
}

extension CustomerRecords {
    /// Transaction ids of the consumables in the history.
    package var consumables: Set<String> {
        Set(
            transactions.lazy.map(\.payload).filter { $0.type == ProductType.consumable.rawValue }
                .compactMap(\.transactionId))
    }
}

/// What is odd about an answer of the App Store Server API.
package enum RecordAnomaly: Sendable, Hashable {
    /// The history does not hold a transaction that was asked for.
    case requestedIdMissing(TransactionIdentifier)
    /// The history that came for a transaction does not hold it: the App Store knows the customer by another id, too.
    case requestedIdIsAlias(TransactionIdentifier)
    /// A genuine transaction names no app; seen about once in a million.
    case transactionWithoutBundleId(String?)
    /// The history holds a subscription that the statuses do not.
    case subscriptionWithoutStatus(String)
}

/// Where one subscription stands.
///
/// https://developer.apple.com/documentation/appstoreserverapi/lasttransactionsitem
package struct SubscriptionRecord: Sendable {
    /// Products that replace one another share it.
    package let subscriptionGroupIdentifier: String?
    /// The subscription.
    package let originalTransactionId: String
    /// 1 active, 2 expired, 3 in billing retry, 4 in grace, 5 revoked.
    package let status: Int
    /// Its latest transaction.
    package let transaction: Signed<TransactionPayload>?
    /// How it goes on.
    package let renewal: Signed<RenewalPayload>?

    /// A record; what is signed in it was verified.
    package init(
        subscriptionGroupIdentifier: String?, originalTransactionId: String, status: Int,
        transaction: Signed<TransactionPayload>?, renewal: Signed<RenewalPayload>?
    ) {
        self.subscriptionGroupIdentifier = subscriptionGroupIdentifier
        self.originalTransactionId = originalTransactionId
        self.status = status
        self.transaction = transaction
        self.renewal = renewal
    }
}
