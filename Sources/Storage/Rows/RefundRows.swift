package import Base

/// A customer whose refund history is to be requested.
package struct RefundTarget: Sendable, Hashable {
    package let scope: AppScope
    /// Any transaction of the customer.
    package let identifier: TransactionIdentifier
    /// Revision of the last refund history; `nil` if none has been read.
    package let revision: String?

    package init(scope: AppScope, identifier: TransactionIdentifier, revision: String?) {
        self.scope = scope
        self.identifier = identifier
        self.revision = revision
    }
}

/// A page of targets, in the order in which the store got their customers.
package struct RefundTargetPage: Sendable, Hashable {
    package let targets: [RefundTarget]
    /// Where the next page begins; `nil` after the last one.
    package let next: Int64?

    /// Number of transactions that one page is made of.
    package static let size = 1_000
}

/// A refund found in a refund history.
package struct RefundRow: Sendable, Hashable {
    package let transaction: TransactionRow
    /// Date of the refund.
    package let date: Timestamp

    package init(transaction: TransactionRow, date: Timestamp) {
        self.transaction = transaction
        self.date = date
    }
}

/// A refund that has not been reported yet.
package struct UnreportedRefund: Sendable, Hashable {
    package let id: Int64
    package let scope: AppScope
    package let date: Timestamp
    /// The compact JWS.
    package let text: String
}
