package import StoreTypes

/// A customer's whole history as one look-up told it, to be kept.
package struct CustomerRow: Sendable {
    /// When the look-up began, by this machine's clock.
    package let askedAt: Timestamp
    /// When the answer was signed, by the App Store's.
    package let signedDate: Timestamp
    package let appAppleId: Int64?
    /// Of the history.
    package let revision: String?
    /// In the order of the history.
    package let transactions: [TransactionRow]
    /// In the order of the statuses' answer.
    package let statuses: [StatusRow]
    package let renewals: [RenewalRow]
    /// Identifiers of receipts that stand beside this history without being in it: a restored purchase has had other
    /// ids. Nobody is found by these.
    package let aliases: [String]

    package init(
        askedAt: Timestamp, signedDate: Timestamp, appAppleId: Int64?, revision: String?,
        transactions: [TransactionRow], statuses: [StatusRow], renewals: [RenewalRow], aliases: [String]
    ) {
        self.askedAt = askedAt
        self.signedDate = signedDate
        self.appAppleId = appAppleId
        self.revision = revision
        self.transactions = transactions
        self.statuses = statuses
        self.renewals = renewals
        self.aliases = aliases
    }
}

/// What is kept of a customer whose whole history was looked up once, with everything that was heard since.
package struct StoredCustomer: Sendable {
    /// Where a subscription stands.
    package struct Subscription: Sendable {
        package let originalTransactionId: String
        package let status: Int
        package let subscriptionGroupIdentifier: String?
        /// The compact JWS.
        package let renewal: String?
    }

    /// When the whole history was looked up last, by this machine's clock.
    package let askedAt: Timestamp
    /// Whether something happened since that the history must be looked up for again.
    package let needsLookup: Bool
    package let appAppleId: Int64?
    package let revision: String?
    /// Compact JWS, in the order of their last change.
    package let transactions: [String]
    /// Ids of those that are taken back by what was heard last, which need not be the record: verifyReceipt may have
    /// called the purchase good since.
    package let takenBack: Set<String>
    /// In the order of the statuses' answer.
    package let subscriptions: [Subscription]
}
