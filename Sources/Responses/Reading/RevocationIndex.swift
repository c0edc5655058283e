package import AppStorePayloads
package import Base

/// An index of purchases that were refunded or revoked, by the ids that a receipt has for them. verifyReceipt never
/// shows the refund of a consumable, so the index holds none.
///
/// A purchase has two ids, because a restored transaction may have another transaction id in the receipt than in the
/// records; the web order line item id is the same.
package struct RevocationIndex: Sendable {
    /// The revocation of one purchase.
    package struct Revocation: Sendable, Hashable {
        /// When the purchase was revoked.
        package let date: Timestamp
        /// Apple's reason: 1 for an issue in the app, 0 for any other.
        package let reason: Int64?

        /// Creates a revocation.
        package init(date: Timestamp, reason: Int64?) {
            self.date = date
            self.reason = reason
        }
    }

    private struct Entry: Sendable {
        let revocation: Revocation
        /// The other id of the purchase.
        let lineItem: String?
    }

    private struct Generation: Sendable {
        var byTransaction: [String: Entry] = [:]
        var byLineItem: [String: Revocation] = [:]

        var count: Int { byTransaction.count + byLineItem.count }
    }

    private var younger = Generation()
    /// The purchases from before the last eviction.
    private var older = Generation()

    /// The number of purchases that were added as revoked and were not in the index before.
    package private(set) var added = 0

    /// Creates an empty index.
    package init() {}

    /// Creates the index of a transaction history.
    package init(_ records: CustomerRecords) {
        // The newest record of a transaction is the last one: a refund can be reversed.
        records.transactions.withUnsafeBufferPointer { transactions in
            for index in transactions.indices
            where transactions[index].payload.revocationDate != nil || !isEmpty {
                insert(transactions[index].payload)
            }
        }
    }

    package var isEmpty: Bool { count == 0 }
    /// The number of ids in the index.
    package var count: Int { younger.count + older.count }

    /// Records the newest state of a transaction. A transaction without a revocation removes its entry, because a
    /// refund can be reversed.
    package mutating func insert(_ transaction: TransactionPayload) {
        let revocation =
            transaction.isConsumable
            ? nil
            : transaction.revocationDate.map {
                Revocation(date: $0, reason: transaction.revocationReason)
            }
        insert(revocation, transactionId: transaction.transactionId, webOrderLineItemId: transaction.webOrderLineItemId)
    }

    /// Records the current state of one purchase; `nil` if it is not revoked, or if the revocation was reversed.
    package mutating func insert(_ revocation: Revocation?, transactionId: String?, webOrderLineItemId: String?) {
        let previous = self.revocation(transactionId: transactionId, webOrderLineItemId: webOrderLineItemId)
        if revocation != nil, previous == nil { added += 1 }
        for case let lineItem? in [webOrderLineItemId, transactionId.flatMap { entry($0)?.lineItem }] {
            younger.byLineItem[lineItem] = revocation
            older.byLineItem[lineItem] = nil
        }
        guard let transactionId else { return }
        younger.byTransaction[transactionId] = revocation.map { Entry(revocation: $0, lineItem: webOrderLineItemId) }
        older.byTransaction[transactionId] = nil
    }

    /// Adds those purchases of another index whose transaction ids satisfy a condition.
    package mutating func insert(_ other: RevocationIndex, where isIncluded: (String) -> Bool) {
        for generation in [other.older, other.younger] {
            for (transactionId, entry) in generation.byTransaction where isIncluded(transactionId) {
                insert(entry.revocation, transactionId: transactionId, webOrderLineItemId: entry.lineItem)
            }
        }
    }

    /// Removes the purchases that were added first, if the index holds more ids than its capacity.
    ///
    /// - Returns: whether purchases were removed.
    package mutating func evict(over capacity: Int) -> Bool {
        guard younger.count > capacity / 2 else { return false }
        let removed = older.count
        (older, younger) = (younger, Generation())
        return removed > 0
    }

    private func entry(_ transactionId: String) -> Entry? {
        younger.byTransaction[transactionId] ?? older.byTransaction[transactionId]
    }

    /// Returns whether the transaction id is in the index.
    package func contains(_ transactionId: String) -> Bool { entry(transactionId) != nil }

    /// Returns the revocation by transaction id, otherwise by web order line item id.
    package func revocation(transactionId: String?, webOrderLineItemId: String?) -> Revocation? {
        transactionId.flatMap { entry($0)?.revocation }
            ?? webOrderLineItemId.flatMap { younger.byLineItem[$0] ?? older.byLineItem[$0] }
    }
}
