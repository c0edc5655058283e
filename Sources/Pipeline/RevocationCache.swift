import AppStore
import Ledger
import Purchases
import StoreTypes
import Synchronization

/// What Apple told of revocations, by either way, so that an answer from the receipt alone does not forget them. In
/// memory, and bounded: an app's are dropped as a whole when they become too many. With a store they are there after a
/// restart: look-ups and notifications are kept as a whole, what verifyReceipt told is handed to the keeper here.
final class RevocationCache: Sendable {
    private struct Key: Hashable {
        let bundleId: BundleIdentifier
        let environment: AppStoreEnvironment
    }

    private struct RevocationKey: Hashable {
        let environment: AppStoreEnvironment
        let transactionId: String
    }

    /// Ids of one app and environment; with their payload about 200 bytes each.
    private static let capacity = 100_000

    private let known = Mutex<[Key: RevocationIndex]>([:])
    /// When what was heard of last of a transaction was signed.
    private let recorded = GenerationalCache<RevocationKey, Timestamp>(limit: 200_000)
    /// Taken back by records, and by verifyReceipt's word no more; until a newer record comes.
    private let reversed = GenerationalCache<RevocationKey, Bool>(limit: 10_000)
    private let writer: BackgroundStoreWriter?
    private let counts: ProxyMetrics?

    /// - Parameters:
    ///   - writer: of what verifyReceipt tells; nil where nothing is remembered over a restart.
    ///   - counts: told of what is new; nil counts nothing.
    init(writer: BackgroundStoreWriter? = nil, counts: ProxyMetrics? = nil) {
        self.writer = writer
        self.counts = counts
    }

    /// Takes in what was known before the start.
    func load(from store: Store) throws(StorageError) {
        for (scope, rows) in try stored(in: store) {
            change(scope.bundleId, scope.environment, isNew: false) { revocations in
                for row in rows {
                    // Where the store was opened late, more may be known by now.
                    let last = recorded[RevocationKey(environment: scope.environment, transactionId: row.transactionId)]
                    if let last, row.signedDate.map({ $0 < last }) ?? true { continue }
                    revocations.insert(row)
                    if let date = row.signedDate { record(row.transactionId, in: scope.environment, signed: date) }
                }
            }
        }
    }

    /// Knows what the store holds in place of what it knew. At no time in between it knows less, and where the store cannot
    /// be read it stays as it was.
    func reload(from store: Store) throws(StorageError) {
        var fresh: [Key: RevocationIndex] = [:]
        for (scope, rows) in try stored(in: store) {
            for row in rows {
                fresh[Key(bundleId: scope.bundleId, environment: scope.environment), default: .init()].insert(row)
            }
        }
        recorded.removeAll()
        reversed.removeAll()
        known.withLock { $0 = fresh }
        // What came into the store since it was read, and when all of it was signed.
        try load(from: store)
    }

    private func stored(in store: Store) throws(StorageError) -> [AppScope: [RevocationRow]] {
        // By two ids each.
        try store.revocations(limit: Self.capacity / 2)
    }

    /// Takes in one of several that may come at the same time, and in any order: the newer signature counts.
    func record(_ transaction: TransactionPayload, of bundleId: BundleIdentifier, in environment: AppStoreEnvironment) {
        guard let id = transaction.transactionId, let date = transaction.signedDate else { return }
        change(bundleId, environment) { revocations in
            guard isNew(transaction, in: environment) else { return }
            reversed.remove(RevocationKey(environment: environment, transactionId: id))
            record(id, in: environment, signed: date)
            revocations.insert(transaction)
        }
    }

    private func record(_ transactionId: String, in environment: AppStoreEnvironment, signed date: Timestamp) {
        recorded.insert(date, for: RevocationKey(environment: environment, transactionId: transactionId), cost: 1)
    }

    /// Takes in what the store holds of a customer. Another process may have put it there: a purchase whose newer record
    /// is not revoked is so no more. What verifyReceipt told has no date to be compared with, and stays.
    func compare(stored records: CustomerRecords, of bundleId: BundleIdentifier) {
        change(bundleId, records.environment) { revocations in
            for transaction in records.transactions {
                guard let id = transaction.payload.transactionId, let date = transaction.payload.signedDate,
                    let last = recorded[RevocationKey(environment: records.environment, transactionId: id)], date > last
                else { continue }
                record(id, in: records.environment, signed: date)
                reversed.remove(RevocationKey(environment: records.environment, transactionId: id))
                revocations.insert(transaction.payload)
            }
        }
    }

    /// False where something that was signed later was heard: a look-up may have been under way for a while.
    private func isNew(_ transaction: TransactionPayload, in environment: AppStoreEnvironment) -> Bool {
        guard let id = transaction.transactionId, let date = transaction.signedDate,
            let last = recorded[RevocationKey(environment: environment, transactionId: id)]
        else { return true }
        return date >= last
    }

    func record(_ records: CustomerRecords, of bundleId: BundleIdentifier) {
        change(bundleId, records.environment) { revocations in
            for transaction in records.transactions where isNew(transaction.payload, in: records.environment) {
                revocations.insert(transaction.payload)
                if let id = transaction.payload.transactionId {
                    reversed.remove(RevocationKey(environment: records.environment, transactionId: id))
                }
                if transaction.payload.revocationDate != nil, let id = transaction.payload.transactionId,
                    let date = transaction.payload.signedDate
                {
                    record(id, in: records.environment, signed: date)
                }
            }
        }
    }

    /// - Returns: ids, first transactions' too, of which something else was known.
    func record(
        _ rows: [VerifyReceiptRow], of bundleId: BundleIdentifier, in environment: AppStoreEnvironment
    ) -> [String] {
        // in_app is as old as the receipt; what an answer says last of a purchase is what holds.
        var last: [String: Int] = [:]
        for (place, row) in rows.enumerated() { if let id = row.transactionId { last[id] = place } }
        let rows = rows.enumerated().filter { place, row in
            row.transactionId.flatMap { last[$0] } ?? place == place
        }.map(\.element)
        var news: [VerifyReceiptRow] = []
        change(bundleId, environment) { revocations in
            for row in rows {
                if let id = row.transactionId,
                    revocations.revocation(transactionId: id, webOrderLineItemId: nil) != row.revocation
                {
                    news.append(row)
                }
                revocations.insert(
                    row.revocation, transactionId: row.transactionId, webOrderLineItemId: row.webOrderLineItemId)
            }
        }
        guard !news.isEmpty else { return [] }
        for row in news {
            guard let id = row.transactionId else { continue }
            let name = RevocationKey(environment: environment, transactionId: id)
            if row.revocation == nil { reversed.insert(true, for: name, cost: 1) } else { reversed.remove(name) }
        }
        writer?.save(
            revoked: news.compactMap(RevocationRow.init),
            valid: news.compactMap { $0.revocation == nil ? $0.transactionId : nil },
            of: AppScope(bundleId: bundleId, environment: environment))
        return news.flatMap { [$0.originalTransactionId, $0.transactionId].compactMap(\.self) }
    }

    private func change(
        _ bundleId: BundleIdentifier, _ environment: AppStoreEnvironment, isNew: Bool = true,
        _ body: (inout RevocationIndex) -> Void
    ) {
        let key = Key(bundleId: bundleId, environment: environment)
        let learnt = known.withLock { known in
            let before = known[key]?.added ?? 0
            // In place: a copy of a hundred thousand entries for each answer would be dear.
            body(&known[key, default: RevocationIndex()])
            let after = known[key]?.added ?? 0
            if known[key].map({ $0.count > Self.capacity }) == true { known[key] = RevocationIndex() }
            return after - before
        }
        if isNew, learnt > 0 { counts?[bundleId].revoked(in: environment, count: learnt) }
    }

    func revocations(of bundleId: BundleIdentifier, in environment: AppStoreEnvironment) -> RevocationIndex {
        known.withLock { $0[Key(bundleId: bundleId, environment: environment)] } ?? RevocationIndex()
    }

    /// Whether one of these purchases, which were taken back, is known to be so no more.
    func knowsNoMore(of transactionIds: [String], since: Timestamp, in scope: AppScope) -> Bool {
        let known = revocations(of: scope.bundleId, in: scope.environment)
        return transactionIds.contains { id in
            guard let date = recorded[RevocationKey(environment: scope.environment, transactionId: id)], date > since
            else {
                return false
            }
            return !known.mentions(id)
        }
    }

    /// Whether these records call a purchase taken back that verifyReceipt has called good since.
    func contradicts(_ records: CustomerRecords) -> Bool {
        records.transactions.contains { transaction in
            guard transaction.payload.revocationDate != nil, let id = transaction.payload.transactionId else {
                return false
            }
            return reversed[RevocationKey(environment: records.environment, transactionId: id)] != nil
        }
    }

    /// Whether one of these purchases is known to be taken back.
    func knows(_ keys: CustomerIdentifiers, of bundleId: BundleIdentifier, in environment: AppStoreEnvironment) -> Bool
    {
        known.withLock { known in
            guard let revocations = known[Key(bundleId: bundleId, environment: environment)], !revocations.isEmpty
            else {
                return false
            }
            return keys.transactionIds.contains {
                revocations.revocation(transactionId: $0.rawValue, webOrderLineItemId: nil) != nil
            }
        }
    }
}

extension RevocationIndex {
    fileprivate mutating func insert(_ row: RevocationRow) {
        insert(
            Revocation(date: row.date, reason: row.reason), transactionId: row.transactionId,
            webOrderLineItemId: row.webOrderLineItemId)
    }
}

extension RevocationRow {
    /// Nil where the row was not taken back, or has no id.
    fileprivate init?(_ purchase: VerifyReceiptRow) {
        guard let id = purchase.transactionId, let revocation = purchase.revocation else { return nil }
        self.init(
            transactionId: id, webOrderLineItemId: purchase.webOrderLineItemId, date: revocation.date,
            reason: revocation.reason)
    }
}
