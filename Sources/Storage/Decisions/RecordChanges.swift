package import ReceiptBridgeBase

/// What reports of one app change in the store. Each report sees the changes by those before it.
package struct RecordChanges: Sendable {
    package struct Written: Sendable {
        package let row: TransactionRow
        package let text: EncodedJWS
        package let customer: Int64?
        package let place: Int64
    }

    /// The transactions that are inserted or replace the stored version, each once.
    package private(set) var written: [Written] = []
    /// Ids of the transactions whose stored version becomes history.
    package private(set) var superseded: [String] = []
    /// The reported versions that become history.
    package private(set) var history: [RecordReport.Transaction] = []
    /// The revocations that are stored, by transaction id.
    package private(set) var revoked: [String: RevocationRow] = [:]
    /// Ids of the transactions whose revocation is deleted.
    package private(set) var valid: Set<String> = []
    /// The renewal infos and statuses, one row for each subscription.
    package private(set) var subscriptions: [SubscriptionColumns] = []
    /// Customers that need a lookup that was signed later.
    package private(set) var stale: [Int64: Timestamp] = [:]
    package private(set) var events: [CustomerEvent] = []
    /// Dates of the refunds among ``events``, by transaction id.
    package private(set) var refunds: [String: Timestamp] = [:]
    /// What is stored, with the changes so far.
    private var stored: StoredRecords
    /// Positions in ``written`` by transaction id.
    private var positions: [String: Int] = [:]

    package init(to stored: StoredRecords) { self.stored = stored }

    /// Adds the changes by a report. Returns whether its transaction is the most recently signed one of its purchase.
    package mutating func add(_ report: RecordReport) -> Bool {
        let lookup = needsLookup(report)
        var (isNew, customer): (Bool, Int64?) = (false, nil)
        if let transaction = report.transaction {
            (isNew, customer) = add(transaction, since: report.clock)
        }
        let isNewer = add(report.subscriptions)
        guard let purchase = report.purchase else { return isNew }
        if lookup, let stale = stored.customer(of: purchase) { markStale(stale, since: report.clock) }
        let key = (customer ?? stored.purchases[purchase]).flatMap { stored.customers[$0]?.eventKey } ?? purchase
        switch report.event {
        case .notification(let members):
            events.append(
                CustomerEvent(
                    customer: key, type: .notification,
                    body: EventMembers.body([
                        members.head, isNew ? members.transaction : nil, isNewer.renewal ? members.renewal : nil,
                        isNewer.status ? members.status : nil,
                    ])))
        case .refund(let source):
            if let (row, text) = report.transaction, let date = report.refundDate,
                // What was signed later may have reversed the refund.
                isNew || stored.revocations[row.transactionId]?.date == date,
                stored.records[row.transactionId]?.reportedRefund != date
            {
                events.append(CustomerEvent(row, as: text, of: key, source: source))
                refunds[row.transactionId] = date
                stored.records[row.transactionId]?.reportedRefund = date
            }
        case nil: break
        }
        return isNew
    }

    /// Returns whether a refund is stored, and an event has reported it.
    package func isReported(_ refund: RecordReport) -> Bool {
        guard let date = refund.refundDate, let row = refund.transaction?.row else { return false }
        return stored.records[row.transactionId]?.reportedRefund == date
            && stored.revocations[row.transactionId]?.date == row.revocation?.date
    }

    /// Returns whether the customer needs a lookup, by what is stored before the report.
    private func needsLookup(_ report: RecordReport) -> Bool {
        guard case .ofRefund(let date) = report.lookup, let row = report.transaction?.row else {
            return report.lookup == .needed
        }
        let id = row.transactionId
        let change = RecordChange(reported: row.signedDate, stored: stored.records[id]?.signedDate)
        return StalenessCause.refund(
            isLatest: change.isNew, isSubscription: row.isSubscription,
            isKnownRevocation: stored.revocations[id]?.date == date
        ).needsLookup
    }

    /// Adds a transaction. Returns whether it is the most recently signed one, and its customer.
    private mutating func add(
        _ transaction: RecordReport.Transaction, since clock: Timestamp
    ) -> (isNew: Bool, customer: Int64?) {
        let row = transaction.row
        let old = stored.records[row.transactionId]
        let change = RecordChange(reported: row.signedDate, stored: old?.signedDate)
        var customer = old?.customer
        switch change {
        case .insert:
            let owner = stored.owner(of: row)
            customer = owner.customer
            if let customer, owner.cause?.needsLookup ?? false { markStale(customer, since: clock) }
        case .replaceAndKeepStored:
            if let position = positions[row.transactionId] {
                history.append((written[position].row, written[position].text))
            } else {
                superseded.append(row.transactionId)
            }
        case .keepAsHistory: history.append(transaction)
        case .replace, .ignore: break
        }
        if change.isNew {
            write(transaction, of: customer)
            updateRevocation(row)
        }
        return (change.isNew, customer)
    }

    private mutating func write(_ transaction: RecordReport.Transaction, of customer: Int64?) {
        let (row, text) = transaction
        let new = Written(row: row, text: text, customer: customer, place: stored.store(row, of: customer))
        if let position = positions[row.transactionId] {
            written[position] = new
        } else {
            positions[row.transactionId] = written.count
            written.append(new)
        }
    }

    /// Stores the revocation of a purchase, or deletes one that Apple did not report later.
    private mutating func updateRevocation(_ row: TransactionRow) {
        let id = row.transactionId
        if let revocation = row.revocation {
            revoked[id] = revocation
            valid.remove(id)
            stored.revocations[id] = StoredRecords.Revocation(date: revocation.date, reportedAt: revocation.reportedAt)
        } else if let known = stored.revocations[id],
            FactTime.signed(row.signedDate).counts(over: known.reportedAt)
        {
            revoked[id] = nil
            valid.insert(id)
            stored.revocations[id] = nil
        }
    }

    /// Adds the renewal info and the status if they are newer. Returns whether they are.
    private mutating func add(_ rows: [SubscriptionColumns]) -> (renewal: Bool, status: Bool) {
        var isNewer = (renewal: false, status: false)
        for row in rows {
            let id = row.originalTransactionId
            let none = SubscriptionColumns.noClock
            let old = stored.subscriptions[id] ?? StoredRecords.Clocks(renewal: none, status: none)
            let (hasRenewal, hasStatus) = (row.renewalClock > old.renewal, row.statusClock > old.status)
            guard hasRenewal || hasStatus else { continue }
            isNewer = (isNewer.renewal || hasRenewal, isNewer.status || hasStatus)
            stored.subscriptions[id] = StoredRecords.Clocks(
                renewal: max(row.renewalClock, old.renewal), status: max(row.statusClock, old.status))
            if let position = subscriptions.firstIndex(where: { $0.originalTransactionId == id }) {
                subscriptions[position].add(row)
            } else {
                subscriptions.append(row)
            }
        }
        return isNewer
    }

    private mutating func markStale(_ customer: Int64, since clock: Timestamp) {
        stale[customer] = max(stale[customer] ?? clock, clock)
    }
}
