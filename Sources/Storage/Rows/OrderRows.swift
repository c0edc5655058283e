package import Base

/// The App Store's answer to the lookup of an order.
package struct OrderLookupRow: Sendable, Hashable {
    /// As the customer gave it.
    package let orderId: String
    /// Apple's status: 0 if the order has purchases of the app.
    package let status: Int64
    /// The payloads of the transactions, each a JSON object.
    package let transactions: [[UInt8]]
    /// The transaction ids and original transaction ids, by which the row belongs to a customer.
    package let identifiers: [String]

    package init(orderId: String, status: Int64, transactions: [[UInt8]], identifiers: [String]) {
        self.orderId = orderId
        self.status = status
        self.transactions = transactions
        self.identifiers = identifiers
    }

    /// The transactions as one JSON array, as it is stored.
    package var transactionsJSON: [UInt8] {
        [UInt8(ascii: "[")] + transactions.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
    }
}

/// A stored answer, with how often the order was asked for.
package struct StoredOrder: Sendable, Hashable {
    package let orderId: String
    package let status: Int64
    /// The payloads of the transactions, as a JSON array.
    package let transactionsJSON: [UInt8]
    /// The number of lookups.
    package let asked: Int64
    package let firstAskedAt: Timestamp
    package let lastAskedAt: Timestamp
}
