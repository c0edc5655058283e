package import ReceiptBridgeBase

/// A customer's complete history from one lookup, to be stored.
package struct CustomerRow: Sendable {
    /// When the lookup began, by this machine's clock.
    package let askedAt: Timestamp
    /// When the history was signed, by the App Store's clock. What was signed later need not be in it.
    package let signedDate: Timestamp
    package let appAppleId: Int64?
    package let revision: String?
    /// In the order of the history.
    package let transactions: [TransactionRow]
    /// In the order of the statuses response.
    package let statuses: [StatusRow]
    package let renewals: [RenewalRow]
    /// Identifiers of receipts that belong to this customer but are not in the history. For example, a restored
    /// purchase had other ids. They are not used to find the customer.
    package let aliases: [String]
    /// Whether the history and the statuses contradict each other, so that only another lookup can tell the state.
    package var contradictsItself = false

    package init(
        askedAt: Timestamp, signedDate: Timestamp, appAppleId: Int64?, revision: String?,
        transactions: [TransactionRow], statuses: [StatusRow], renewals: [RenewalRow], aliases: [String]
    ) {
        (self.askedAt, self.signedDate, self.appAppleId, self.revision) = (askedAt, signedDate, appAppleId, revision)
        (self.transactions, self.statuses, self.renewals, self.aliases) = (transactions, statuses, renewals, aliases)
    }
}

/// A stored customer: the complete history from the last lookup, with all later records.
package struct StoredCustomer: Sendable {
    /// The stored status of a subscription.
    package struct Subscription: Sendable {
        package let originalTransactionId: String
        package let status: Int
        package let subscriptionGroupIdentifier: String?
        /// The compact JWS.
        package let renewal: String?
    }

    /// When the complete history was last looked up, by this machine's clock.
    package let askedAt: Timestamp
    /// `true` if an event since then requires a new lookup of the history.
    package let needsLookup: Bool
    package let appAppleId: Int64?
    package let revision: String?
    /// Compact JWS, in the order of their last change.
    package let transactions: [String]
    /// Transaction ids that are revoked according to the latest information. It can be newer than the record:
    /// verifyReceipt may have reported the purchase as valid since.
    package let revokedTransactionIds: Set<String>
    /// In the order of the statuses response.
    package let subscriptions: [Subscription]
}

/// A customer that has an account token in a transaction.
package struct TokenCustomer: Sendable, Hashable {
    package let scope: AppScope
    /// An original transaction id of the customer.
    package let identifier: TransactionIdentifier
}
