package import ReceiptBridgeBase

/// What is stored about some purchases of one app, as far as it decides what a ``RecordReport`` changes.
package struct StoredRecords: Sendable {
    package struct Record: Sendable, Hashable {
        package var signedDate: Timestamp
        package var customer: Int64?
        /// Date of the last refund that was reported by an event; `nil` if there was none.
        package var reportedRefund: Timestamp?

        package init(signedDate: Timestamp, customer: Int64?, reportedRefund: Timestamp? = nil) {
            (self.signedDate, self.customer, self.reportedRefund) = (signedDate, customer, reportedRefund)
        }
    }

    package struct Customer: Sendable, Hashable {
        /// The position after all records, because a history is sorted by the last change.
        package var nextPlace: Int64
        /// `nil` for the id of the purchase.
        package var eventKey: String?

        package init(nextPlace: Int64 = 0, eventKey: String? = nil) {
            (self.nextPlace, self.eventKey) = (nextPlace, eventKey)
        }
    }

    package struct Revocation: Sendable, Hashable {
        /// `nil` if the date is damaged.
        package var date: Timestamp?
        /// `nil` if it is not known when Apple reported it.
        package var reportedAt: FactTime?

        package init(date: Timestamp?, reportedAt: FactTime?) { (self.date, self.reportedAt) = (date, reportedAt) }
    }

    /// Clocks of a subscription's renewal info and status.
    package struct Clocks: Sendable, Hashable {
        package var renewal, status: Int64

        package init(renewal: Int64, status: Int64) { (self.renewal, self.status) = (renewal, status) }
    }

    /// The most recently signed versions, by transaction id.
    package var records: [String: Record] = [:]
    /// Ids of customers by the original transaction ids of their purchases.
    package var purchases: [String: Int64] = [:]
    /// Ids of customers by their app transaction ids.
    package var downloads: [String: Int64] = [:]
    package var customers: [Int64: Customer] = [:]
    /// Stored revocations, by transaction id.
    package var revocations: [String: Revocation] = [:]
    /// By original transaction id.
    package var subscriptions: [String: Clocks] = [:]

    package init() {}

    /// Returns the customer of a new purchase: the one that has the subscription, otherwise the one that has the app
    /// transaction id, otherwise the one that has the subscription from which it was migrated. Also returns why that
    /// customer may be stale.
    func owner(of row: TransactionRow) -> (customer: Int64?, cause: StalenessCause?) {
        if let owner = purchases[row.originalTransactionId] { return (owner, nil) }
        if let owner = row.appTransactionId.flatMap({ downloads[$0] }) {
            return (owner, .ownedByDownload(isSubscription: row.isSubscription))
        }
        if let owner = row.previousOriginalTransactionId.flatMap({ purchases[$0] }) {
            return (owner, .ownedByMigration)
        }
        return (nil, nil)
    }

    func customer(of identifier: String) -> Int64? { purchases[identifier] ?? records[identifier]?.customer }

    /// Stores a record at the end of its customer's history. Returns its place.
    mutating func store(_ row: TransactionRow, of customer: Int64?) -> Int64 {
        records[row.transactionId] = Record(
            signedDate: row.signedDate, customer: customer, reportedRefund: records[row.transactionId]?.reportedRefund)
        guard let customer else { return 0 }
        if purchases[row.originalTransactionId] == nil { purchases[row.originalTransactionId] = customer }
        if let download = row.appTransactionId, downloads[download] == nil { downloads[download] = customer }
        let place = customers[customer]?.nextPlace ?? 0
        customers[customer, default: Customer()].nextPlace = place + 1
        return place
    }
}
