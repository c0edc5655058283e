package import AppStore
package import StoreTypes

/// Purchases that were refunded or taken back, by what a receipt can know them by. A consumable's refund never shows in
/// verifyReceipt's answers, so none is here.
package struct RevocationIndex: Sendable {
    /// One of them.
    package struct Revocation: Sendable, Hashable {
        /// When it was taken back.
        package let date: Timestamp
        /// 0 other, 1 an issue in the app.
        package let reason: Int64?

        /// A revocation.
        package init(date: Timestamp, reason: Int64?) {
            self.date = date
            self.reason = reason
        }
    }

    private var byTransaction: [String: Revocation] = [:]
    private var byLineItem: [String: Revocation] = [:]

    /// How many purchases became known as taken back that were not.
    package private(set) var added = 0

    /// None.
    package init() {}

    /// Those of a history.
    package init(_ transactions: [TransactionPayload]) {
        for transaction in transactions { insert(transaction) }
    }

    package var isEmpty: Bool { byTransaction.isEmpty && byLineItem.isEmpty }
    /// How many ids are held.
    package var count: Int { byTransaction.count + byLineItem.count }

    /// Takes a transaction's newest state: a refund can be undone.
    package mutating func insert(_ transaction: TransactionPayload) {
        let isConsumable = transaction.type == ProductType.consumable.rawValue
        let revocation =
            isConsumable
            ? nil
            : transaction.revocationDate.map {
                Revocation(date: $0, reason: transaction.revocationReason)
            }
        insert(revocation, transactionId: transaction.transactionId, webOrderLineItemId: transaction.webOrderLineItemId)
    }

    /// Takes what is known of one purchase now; nil where it was not taken back, or is so no more.
    package mutating func insert(_ revocation: Revocation?, transactionId: String?, webOrderLineItemId: String?) {
        let known = self.revocation(transactionId: transactionId, webOrderLineItemId: webOrderLineItemId)
        if revocation != nil, known == nil { added += 1 }
        if let transactionId { byTransaction[transactionId] = revocation }
        if let webOrderLineItemId { byLineItem[webOrderLineItemId] = revocation }
    }

    /// Whether one of this id is held.
    package func mentions(_ transactionId: String) -> Bool { byTransaction[transactionId] != nil }

    /// By transaction id, else by web order line item id.
    package func revocation(transactionId: String?, webOrderLineItemId: String?) -> Revocation? {
        transactionId.flatMap { byTransaction[$0] } ?? webOrderLineItemId.flatMap { byLineItem[$0] }
    }
}
