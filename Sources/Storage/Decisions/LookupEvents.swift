package import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// What the store had of a customer before the result of a lookup was stored.
package struct StoredHistory: Sendable {
    /// The most recently signed version of a transaction.
    package struct Record: Sendable {
        package let originalTransactionId: String
        package let signedDate: Timestamp
        /// Row id of its customer; `nil` if it belongs to none.
        package let customer: Int64?
        package let text: EncodedJWS
        package let revocation: RevocationRow?
    }

    /// The status and renewal info of a subscription. Without one of them its clock is -1.
    package struct Subscription: Sendable {
        package let status: Int64?
        package let statusClock: Int64
        package let group: String?
        package let renewal: EncodedJWS?
        package let renewalClock: Int64
    }

    /// By transaction id.
    package var records: [String: Record] = [:]
    /// By original transaction id.
    package var subscriptions: [String: Subscription] = [:]
    /// The keys of the customers that had some of the transactions. They are one customer now.
    package var keys: [String] = []
    /// Transactions that no longer belong to the customer, because the history does not have them.
    package var detached: [String] = []
}

/// The events of one lookup: what differs from the stored records. A lookup signs every record again, so a record
/// whose content is the same has not changed. A value type without I/O.
package struct LookupEvents: Sendable {
    /// Identifies the customer: the smallest original transaction id at the first lookup. It stays when older purchases
    /// turn up later. If customers are merged, it is the smallest of their keys. `nil` if there are no records.
    package let key: String?
    package let events: [CustomerEvent]
    /// Whether a record is new or its content differs, or a status does. Without it, the events only say to whom known
    /// records belong.
    package let differs: Bool

    /// Maximum number of transactions in the body of one event. The first event of a customer has all of them, so
    /// there can be several events.
    private static let maximumTransactions = 100

    /// The texts are the encoded transactions and renewal infos of the row.
    init(
        _ row: CustomerRow, transactions: [EncodedJWS], renewals: [EncodedJWS], stored: StoredHistory,
        source: EventSource
    ) {
        let originals = row.transactions.map(\.originalTransactionId)
        guard let key = Self.smallest(stored.keys.isEmpty ? originals : stored.keys) else {
            (self.key, events, differs) = (nil, [], false)
            return
        }
        self.key = key
        var events: [CustomerEvent] = []
        let renewalChanges = Self.changes(of: row.renewals, renewals, stored)
        let statusChanges = Self.changes(of: row.statuses, stored)
        differs =
            !renewalChanges.isEmpty || !statusChanges.isEmpty || !stored.detached.isEmpty
            || zip(row.transactions, transactions).contains { transaction, text in
                Self.differs(transaction, text, from: stored.records[transaction.transactionId])
            }
        let merged = Self.merged(stored, into: key)
        if !merged.isEmpty {
            let body = EventMembers.body([EventMembers.source(source), EventMembers.list("merged", merged)])
            events.append(CustomerEvent(customer: key, type: .merge, body: body))
        }
        var changed = Self.changes(of: row.transactions, transactions, stored)[...]
        var others = [
            EventMembers.renewalInfos(renewalChanges),
            EventMembers.statuses(statusChanges),
            EventMembers.list("detached", stored.detached),
        ]
        while !changed.isEmpty || others.contains(where: { !$0.isEmpty }) {
            let some = Array(changed.prefix(Self.maximumTransactions))
            changed = changed.dropFirst(some.count)
            let body = EventMembers.body([EventMembers.source(source), EventMembers.transactions(some)] + others)
            events.append(CustomerEvent(customer: key, type: .lookup, body: body))
            others = []
        }
        self.events = events
    }

    /// Returns the numerically smallest id; `nil` if there is none.
    package static func smallest(_ identifiers: some Sequence<String>) -> String? {
        identifiers.min { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
    }

    /// The keys that events of this customer had until now. A transaction without a customer had its original
    /// transaction id as the key.
    private static func merged(_ stored: StoredHistory, into key: String) -> [String] {
        let unowned = stored.records.values.filter { $0.customer == nil }.map(\.originalTransactionId)
        return Set(stored.keys + unowned).subtracting([key]).sorted()
    }

    private static func changes(
        of rows: [TransactionRow], _ texts: [EncodedJWS], _ stored: StoredHistory
    ) -> [(payload: [UInt8], revocation: RevocationRow?)] {
        var changes: [(payload: [UInt8], revocation: RevocationRow?)] = []
        var seen: Set<String> = []
        // If a history has a transaction twice, the last version counts.
        for (row, text) in zip(rows, texts).reversed() where seen.insert(row.transactionId).inserted {
            guard let old = stored.records[row.transactionId] else {
                changes.append((row.payload(text), row.revocation))
                continue
            }
            if !RecordChange(lookedUp: row.signedDate, stored: old.signedDate).isNew {
                // The stored version is newer, and becomes part of the customer.
                if old.customer == nil { changes.append((row.payload(old.text), old.revocation)) }
            } else if old.customer == nil || differs(row, text, from: old) {
                changes.append((row.payload(text), row.revocation))
            }
        }
        return changes.reversed()
    }

    /// Returns whether a transaction is unknown, or newer with another content.
    private static func differs(_ row: TransactionRow, _ text: EncodedJWS, from old: StoredHistory.Record?) -> Bool {
        guard let old else { return true }
        return RecordChange(lookedUp: row.signedDate, stored: old.signedDate).isNew
            && (text.differs(from: old.text) || old.revocation?.date != row.revocation?.date)
    }

    private static func changes(of rows: [RenewalRow], _ texts: [EncodedJWS], _ stored: StoredHistory) -> [[UInt8]] {
        zip(rows, texts).compactMap { row, text in
            if let old = stored.subscriptions[row.originalTransactionId], let renewal = old.renewal {
                guard row.signedDate.milliseconds > old.renewalClock, text.differs(from: renewal) else { return nil }
            }
            return row.payload(text)
        }
    }

    private static func changes(of rows: [StatusRow], _ stored: StoredHistory) -> [StatusRow] {
        rows.filter { row in
            guard let old = stored.subscriptions[row.originalTransactionId] else { return true }
            guard row.clock.milliseconds > old.statusClock else { return false }
            return old.status != Int64(row.status) || row.subscriptionGroupIdentifier ?? old.group != old.group
        }
    }
}

extension CustomerEvent {
    /// The event that stays of an erased customer. A digest stands for its key: a consumer that has the events of the
    /// customer can compute it, and the key itself would be the data that was to be erased.
    package static func erasure(ofKey key: String) -> CustomerEvent {
        CustomerEvent(
            customer: "sha256:" + SHA.hex(Array(key.utf8), with: .sha256), type: .erasure,
            body: EventMembers.body([EventMembers.source(.erasure)]))
    }
}
