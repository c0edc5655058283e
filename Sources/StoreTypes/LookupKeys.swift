/// What a receipt offers to look its customer up by: every identifier in it, not one.
///
/// Distinct, sorted as text, without empty ones and `0`.
package struct LookupKeys: Sendable, Hashable {
    /// From attribute 1705 or `original-transaction-id`.
    package var originalTransactionIds: [TransactionIdentifier]
    /// From attribute 1703 or `transaction-id`.
    package var transactionIds: [TransactionIdentifier]

    package init(originalTransactionIds: some Sequence<String?>, transactionIds: some Sequence<String?>) {
        self.originalTransactionIds = Self.sorted(originalTransactionIds)
        self.transactionIds = Self.sorted(transactionIds)
    }

    package var isEmpty: Bool { originalTransactionIds.isEmpty && transactionIds.isEmpty }

    private static func sorted(_ texts: some Sequence<String?>) -> [TransactionIdentifier] {
        var seen: Set<String> = []
        var identifiers: [TransactionIdentifier] = []
        for case let text? in texts where seen.insert(text).inserted {
            if let identifier = TransactionIdentifier(rawValue: text) { identifiers.append(identifier) }
        }
        return identifiers.sorted { $0.rawValue < $1.rawValue }
    }
}
