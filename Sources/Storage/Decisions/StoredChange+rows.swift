extension StoredChange {
    /// The change by the complete history of one customer.
    package init(_ customer: CustomerRow, in scope: AppScope) {
        let rows = customer.transactions
        var identifiers = Set(rows.map(\.originalTransactionId))
        identifiers.formUnion(rows.compactMap(\.appTransactionId))
        identifiers.formUnion(rows.compactMap(\.previousOriginalTransactionId))
        self.init(
            .lookup, of: identifiers.sorted(),
            transactions: rows.suffix(Self.maximumTransactions).map(\.transactionId), in: scope)
    }

    /// The change by a notification; `nil` if it changes no record.
    package init?(_ update: NotificationUpdate, in scope: AppScope) {
        let identifiers = [
            update.transaction?.originalTransactionId, update.renewal?.originalTransactionId,
            update.status?.originalTransactionId, update.transaction?.appTransactionId,
            update.transaction?.previousOriginalTransactionId,
        ].compactMap { $0 }
        guard !identifiers.isEmpty else { return nil }
        self.init(
            .event, of: Set(identifiers).sorted(), transactions: [update.transaction?.transactionId].compactMap { $0 },
            in: scope)
    }

    /// Several changes of one kind and app as one; `nil` if there is none.
    package init?(joining changes: [StoredChange]) {
        guard let first = changes.first else { return nil }
        self.init(
            first.kind, of: Set(changes.flatMap(\.identifiers)).sorted(),
            transactions: changes.flatMap(\.transactionIds),
            in: first.scope)
    }

    /// The change by revocations that verifyReceipt reported, and by those that it reversed.
    package init(revoked: [RevocationRow], valid: [String], in scope: AppScope) {
        let transactions = Array((revoked.map(\.transactionId) + valid).prefix(Self.maximumTransactions))
        self.init(.event, of: transactions, transactions: transactions, in: scope)
    }

    /// The change by a refund history.
    package init(_ refunds: [RefundRow], in scope: AppScope) {
        let rows = refunds.map(\.transaction).suffix(Self.maximumTransactions)
        let identifiers = Set(rows.map(\.originalTransactionId) + rows.compactMap(\.appTransactionId))
        self.init(.event, of: identifiers.sorted(), transactions: rows.map(\.transactionId), in: scope)
    }
}
