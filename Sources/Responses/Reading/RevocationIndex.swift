package import ReceiptBridgeReceipts
package import ReceiptBridgeBase

/// An index of purchases that were refunded or revoked, by the ids that a receipt has for them. verifyReceipt never
/// shows the refund of a consumable, so the index holds none.
///
/// A purchase has two ids, because a restored transaction may have another transaction id in the receipt than in the
/// records; the web order line item id is the same.
package struct RevocationIndex: Sendable {
    package struct Revocation: Sendable, Hashable {
        package let date: Timestamp
        /// Apple's reason: 1 for an issue in the app, 0 for any other.
        package let reason: Int64?

        package init(date: Timestamp, reason: Int64?) {
            self.date = date
            self.reason = reason
        }
    }

    private struct Entry: Sendable {
        let revocation: Revocation
        let lineItem: String?
    }

    private var byTransaction: [String: Entry] = [:]
    private var byLineItem: [String: Revocation] = [:]

    package init() {}

    package init(_ records: CustomerRecords) {
        // The newest record of a transaction is the last one: a refund can be reversed.
        records.transactions.withUnsafeBufferPointer { transactions in
            for index in transactions.indices
            where transactions[index].payload.revocationDate != nil || !isEmpty {
                let payload = transactions[index].payload
                let revocation = payload.revocationDate.map {
                    Revocation(date: $0, reason: payload.revocationReason)
                }
                insert(
                    payload.isConsumable ? nil : revocation, transactionId: payload.transactionId,
                    webOrderLineItemId: payload.webOrderLineItemId)
            }
        }
    }

    package var isEmpty: Bool { byTransaction.isEmpty && byLineItem.isEmpty }

    /// Records the current state of one purchase; `nil` if it is not revoked, or if the revocation was reversed.
    package mutating func insert(_ revocation: Revocation?, transactionId: String?, webOrderLineItemId: String?) {
        for case let lineItem? in [webOrderLineItemId, transactionId.flatMap { byTransaction[$0]?.lineItem }] {
            byLineItem[lineItem] = revocation
        }
        guard let transactionId else { return }
        byTransaction[transactionId] = revocation.map { Entry(revocation: $0, lineItem: webOrderLineItemId) }
    }

    package func contains(_ transactionId: String) -> Bool { byTransaction[transactionId] != nil }

    package func revocation(transactionId: String?, webOrderLineItemId: String?) -> Revocation? {
        transactionId.flatMap { byTransaction[$0]?.revocation } ?? webOrderLineItemId.flatMap { byLineItem[$0] }
    }
}
