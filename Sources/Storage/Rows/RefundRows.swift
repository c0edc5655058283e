package import ReceiptBridgeBase

/// A customer whose refund history is to be requested.
package struct RefundTarget: Sendable, Hashable {
    package let scope: AppScope
    /// Any transaction of the customer.
    package let identifier: TransactionIdentifier
    /// Ascends with the targets of a run.
    package let position: Int64
    /// Whether it comes from the store.
    package let isStored: Bool

    package init(scope: AppScope, identifier: TransactionIdentifier, position: Int64, isStored: Bool = true) {
        (self.scope, self.identifier, self.position, self.isStored) = (scope, identifier, position, isStored)
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
    package let date: Timestamp

    package init(transaction: TransactionRow, date: Timestamp) {
        self.transaction = transaction
        self.date = date
    }
}

/// What the store has of the refund of an event.
package struct ReportedRefund: Sendable, Hashable {
    /// Whether the event is of this refund. 0.1.0 has printed others.
    package let isReported: Bool
    /// The compact JWS of the transaction; `nil` if it is not stored.
    package let text: String?
}
