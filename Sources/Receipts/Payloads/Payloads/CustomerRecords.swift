package import ReceiptBridgeBase

/// The verified data that the App Store Server API returned for one customer of one app.
package struct CustomerRecords: Sendable {
    package let environment: AppStoreEnvironment
    /// The bundle identifier in the response; `nil` if it contains none.
    package let bundleId: String?
    /// The Apple ID of the app; missing in the sandbox.
    package let appAppleId: Int64?
    /// The transaction history without duplicates, in order of last change.
    package let transactions: [Signed<TransactionPayload>]
    /// One element per subscription, in the order of the status response.
    package let subscriptions: [SubscriptionRecord]
    /// The revision of the last history page. The next request with it returns only changes.
    package let revision: String?
    /// Irregularities in the responses that do not prevent their use.
    package let anomalies: [RecordAnomaly]
    /// When the first request of the lookup was sent: nothing that happened later need be in the records. `nil` if they
    /// are not from a lookup.
    package var begunAt: ContinuousClock.Instant?
    /// When the history was signed, by the App Store's clock. What was signed later need not be in it, although the
    /// statuses add transactions that are. `nil` if the records are not from a lookup.
    package var signedAt: Timestamp?

    /// Creates records. The caller must have verified every JWS.
    package init(
        environment: AppStoreEnvironment, bundleId: String?, appAppleId: Int64?,
        transactions: [Signed<TransactionPayload>], subscriptions: [SubscriptionRecord], revision: String?,
        anomalies: [RecordAnomaly] = []
    ) {
        (self.environment, self.bundleId, self.appAppleId) = (environment, bundleId, appAppleId)
        (self.transactions, self.subscriptions, self.revision) = (transactions, subscriptions, revision)
        self.anomalies = anomalies
    }
}

extension CustomerRecords {
    package var consumables: ConsumableIdentifiers {
        var consumables = ConsumableIdentifiers()
        // In place, because a copy of a payload counts a reference to each of its texts.
        transactions.withUnsafeBufferPointer { transactions in
            for index in transactions.indices where transactions[index].payload.isConsumable {
                guard let id = transactions[index].payload.transactionId else { continue }
                consumables.all.insert(id)
                // The newest record of a transaction is the last one: a refund can be reversed.
                if transactions[index].payload.revocationDate == nil {
                    consumables.refunded.remove(id)
                } else {
                    consumables.refunded.insert(id)
                }
            }
        }
        return consumables
    }
}

/// The consumables of a history, by transaction id.
package struct ConsumableIdentifiers: Sendable, Hashable {
    package var all: Set<String>
    /// Those that were refunded, also in part.
    package var refunded: Set<String>

    package init(all: Set<String> = [], refunded: Set<String> = []) {
        self.all = all
        self.refunded = refunded
    }
}

/// An irregularity in a response of the App Store Server API.
package enum RecordAnomaly: Sendable, Hashable {
    /// The history does not contain a transaction that was requested.
    case requestedIdMissing(TransactionIdentifier)
    /// The history returned for a transaction does not contain it, because the App Store also knows the customer by
    /// another id.
    case requestedIdIsAlias(TransactionIdentifier)
    /// An authentic transaction has no bundle identifier; observed about once in a million.
    case transactionWithoutBundleId(String?)
    /// The history contains a subscription that is missing from the status response.
    case subscriptionWithoutStatus(String)
    /// The history has a later period of a subscription than the status response, which was asked twice, or another
    /// revocation of the same one. The records follow the history.
    case statusOlderThanHistory(String)
}

/// The state of one subscription.
///
/// https://developer.apple.com/documentation/appstoreserverapi/lasttransactionsitem
package struct SubscriptionRecord: Sendable {
    /// The subscription group. A customer can be subscribed to one product of a group at a time.
    package let subscriptionGroupIdentifier: String?
    package let originalTransactionId: String
    /// 1 active, 2 expired, 3 in billing retry, 4 in grace period, 5 revoked.
    package let status: Int
    /// The latest transaction of the subscription.
    package let transaction: Signed<TransactionPayload>?
    package let renewal: Signed<RenewalPayload>?

    /// Creates a record. The caller must have verified every JWS.
    package init(
        subscriptionGroupIdentifier: String?, originalTransactionId: String, status: Int,
        transaction: Signed<TransactionPayload>?, renewal: Signed<RenewalPayload>?
    ) {
        self.subscriptionGroupIdentifier = subscriptionGroupIdentifier
        (self.originalTransactionId, self.status) = (originalTransactionId, status)
        (self.transaction, self.renewal) = (transaction, renewal)
    }

    /// Returns whether a status of the Server API gives access; `nil` if it is none of the five.
    package static func givesAccess(status: Int64) -> Bool? {
        switch status {
        case 1, 4: true
        case 2, 3, 5: false
        default: nil
        }
    }

    /// Returns whether the subscription gives access. If its status is not known, its newest period decides.
    package func givesAccess(at now: Timestamp, newest: TransactionPayload) -> Bool {
        Self.givesAccess(status: Int64(status))
            ?? (newest.revocationDate == nil && newest.expiresDate.map { $0 > now } ?? true)
    }
}
