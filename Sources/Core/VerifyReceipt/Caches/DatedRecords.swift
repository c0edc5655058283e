package import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// Records of a customer, how old they are, and their number in memory.
package struct DatedRecords: Sendable {
    package let records: CustomerRecords
    package let freshness: Freshness
    /// The same number means the same records. `nil` if they are not in memory.
    package var version: UInt64?
}

extension CustomerRecords {
    /// Whether the records are those of one customer, without irregularities. Several histories in one result can
    /// belong to several customers, and the store has neither them nor irregularities.
    var isWholeHistory: Bool { revision != nil && anomalies.isEmpty }

    func contains(_ keys: CustomerIdentifiers) -> Bool {
        var missing = Set(keys.originalTransactionIds + keys.transactionIds)
        transactions.withUnsafeBufferPointer { transactions in
            for index in transactions.indices where !missing.isEmpty {
                for text in [
                    transactions[index].payload.transactionId, transactions[index].payload.originalTransactionId,
                    transactions[index].payload.appTransactionId,
                ] {
                    if let id = text.flatMap(TransactionIdentifier.init(rawValue:)) { missing.remove(id) }
                }
            }
        }
        return missing.isEmpty
    }
}
