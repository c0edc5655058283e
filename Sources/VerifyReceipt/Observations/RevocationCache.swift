import AppStoreClients
package import AppStorePayloads
package import Base
import Responses
import Storage
import Synchronization
import Telemetry

/// A cache of the revocations that Apple has reported, by verifyReceipt or by the Server API, so that a response from
/// the receipt alone shows refunds.
///
/// In memory, and bounded: if an app has too many, the oldest are dropped. With a store the latest are loaded after a
/// restart, and those that are not in memory are looked up, see ``RevocationCache/revocations(of:in:within:)``. Lookups
/// and notifications are stored as a whole by other parts; revocations that verifyReceipt reports are written from
/// here.
package final class RevocationCache: Sendable {
    private struct RevocationKey: Hashable {
        let environment: AppStoreEnvironment
        let transactionId: String
    }

    private struct Coverage {
        /// `true` once the latest revocations are loaded from the store.
        var isLoaded = false
        /// The apps of which the store holds more revocations than this cache.
        var incomplete: Set<AppScope> = []
    }

    /// How long a revocation that was recorded here counts as not written yet.
    private static let writeTime = Duration.seconds(10)
    /// The maximum number of ids of one app and environment, about 200 bytes each.
    private static let capacity = 100_000

    private let indexes = Mutex<[AppScope: RevocationIndex]>([:])
    /// When Apple said what is known about each transaction.
    private let times = GenerationalCache<RevocationKey, FactTime>(limit: 200_000)
    /// Revoked by the Server API's records, and reversed by a later verifyReceipt response. An entry is removed when a
    /// newer record comes.
    private let reversed = GenerationalCache<RevocationKey, Bool>(limit: 10_000)
    /// Purchases whose revocation, or its reversal, was recorded here and may not be in the store yet.
    private let unwritten = GenerationalCache<RevocationKey, ContinuousClock.Instant>(limit: 10_000)
    /// Which revocations the store holds and this cache does not.
    private let coverage = Mutex(Coverage())
    /// `nil` if nothing is stored across restarts.
    private let store: (any Store)?
    private let writer: BackgroundStoreWriter?
    private let counts: ProxyMetrics?

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - writer: stores the revocations that verifyReceipt reports; `nil` if nothing is stored across restarts.
    ///   - counts: counts new revocations; `nil` counts nothing.
    ///   - store: looks up revocations that are not in memory; `nil` if nothing is stored across restarts.
    init(writer: BackgroundStoreWriter? = nil, store: (any Store)? = nil, counts: ProxyMetrics? = nil) {
        self.writer = writer
        self.store = store
        self.counts = counts
    }

    /// Adds the revocations that the store holds from before the start.
    func load(from store: any RevocationStore) async throws(StorageError) {
        let stored = try await stored(in: store)
        for (scope, rows) in stored {
            change(scope.bundleId, scope.environment, isNew: false) { revocations in
                for row in rows {
                    // If the store was opened late, a newer record may have been received already.
                    guard isNew(row, in: scope.environment), !isUnwritten(row.transactionId, in: scope.environment)
                    else { continue }
                    revocations.insert(row)
                    record(row.transactionId, in: scope.environment, row.reportedAt)
                }
            }
        }
        // At the end: from now on, a revocation that is not in memory counts as not stored.
        coverage.withLock { coverage in
            coverage.isLoaded = true
            for (scope, rows) in stored where rows.count >= Self.capacity / 2 { coverage.incomplete.insert(scope) }
        }
    }

    /// Replaces the cache with the store's content. It never holds less than before in the meantime, and stays
    /// unchanged if the store cannot be read. What was recorded here a moment ago stays too, because the store may not
    /// have it yet.
    func reload(from store: any RevocationStore) async throws(StorageError) {
        var loaded: [AppScope: RevocationIndex] = [:]
        for (scope, rows) in try await stored(in: store) {
            for row in rows where !isUnwritten(row.transactionId, in: scope.environment) {
                loaded[scope, default: .init()].insert(row)
            }
        }
        times.removeAll()
        reversed.removeAll()
        indexes.withLock { indexes in
            for (key, index) in indexes {
                loaded[key, default: .init()].insert(index) { isUnwritten($0, in: key.environment) }
            }
            indexes = loaded
        }
        // Adds what was stored during the read, and the times of all facts.
        try await load(from: store)
    }

    /// Returns whether the state of a transaction was recorded here and may not be in the store yet.
    private func isUnwritten(_ transactionId: String, in environment: AppStoreEnvironment) -> Bool {
        unwritten[RevocationKey(environment: environment, transactionId: transactionId)]
            .map { ContinuousClock.now - $0 <= Self.writeTime } ?? false
    }

    private func stored(in store: any RevocationStore) async throws(StorageError) -> [AppScope: [RevocationRow]] {
        // Half the capacity, because each revocation has two ids.
        try await store.revocations(limit: Self.capacity / 2)
    }

    /// Records the state of one transaction. Records may arrive at the same time and in any order; the newest signing
    /// date counts.
    package func record(
        _ transaction: TransactionPayload, of bundleId: BundleIdentifier, in environment: AppStoreEnvironment
    ) {
        guard let id = transaction.transactionId, let date = transaction.signedDate else { return }
        change(bundleId, environment) { revocations in
            guard isNew(transaction, in: environment) else { return }
            reversed.remove(RevocationKey(environment: environment, transactionId: id))
            record(id, in: environment, .signed(date))
            revocations.insert(transaction)
        }
    }

    private func record(_ transactionId: String, in environment: AppStoreEnvironment, _ time: FactTime?) {
        guard let time else { return }
        times.insert(time, for: RevocationKey(environment: environment, transactionId: transactionId), cost: 1)
    }

    /// Compares the cache with the stored records of a customer. Another process may have written them: a purchase
    /// whose newer record is not revoked is removed from the cache.
    func reconcile(stored records: CustomerRecords, of bundleId: BundleIdentifier) {
        change(bundleId, records.environment) { revocations in
            for transaction in records.transactions {
                guard let id = transaction.payload.transactionId, let date = transaction.payload.signedDate,
                    let last = times[RevocationKey(environment: records.environment, transactionId: id)],
                    last != .signed(date), FactTime.signed(date).counts(over: last)
                else { continue }
                record(id, in: records.environment, .signed(date))
                reversed.remove(RevocationKey(environment: records.environment, transactionId: id))
                revocations.insert(transaction.payload)
            }
        }
    }

    /// Returns false if something later was recorded before, because a lookup can be in flight for a while.
    private func isNew(_ transaction: TransactionPayload, in environment: AppStoreEnvironment) -> Bool {
        guard let id = transaction.transactionId, let date = transaction.signedDate else { return true }
        return FactTime.signed(date).counts(over: times[RevocationKey(environment: environment, transactionId: id)])
    }

    /// The same for a stored revocation. One of which it is not known when Apple said it is older than any other.
    private func isNew(_ row: RevocationRow, in environment: AppStoreEnvironment) -> Bool {
        let last = times[RevocationKey(environment: environment, transactionId: row.transactionId)]
        return row.reportedAt.map { $0.counts(over: last) } ?? (last == nil)
    }

    /// Records a customer's records from a lookup. They replace what verifyReceipt reported before, unless a newer
    /// record was received in the meantime.
    package func record(_ records: CustomerRecords, of bundleId: BundleIdentifier) {
        change(bundleId, records.environment) { revocations in
            for transaction in records.transactions where isNew(transaction.payload, in: records.environment) {
                let wasRevoked = transaction.payload.transactionId.map(revocations.contains) ?? false
                revocations.insert(transaction.payload)
                guard let id = transaction.payload.transactionId else { continue }
                let key = RevocationKey(environment: records.environment, transactionId: id)
                reversed.remove(key)
                if wasRevoked || transaction.payload.revocationDate != nil, let date = transaction.payload.signedDate {
                    record(id, in: records.environment, .signed(date))
                    unwritten.insert(.now, for: key, cost: 1)
                }
            }
        }
    }

    /// Records the rows of a verifyReceipt response. Those about which Apple said something later are left out.
    ///
    /// - Parameter askedAt: when the request began.
    /// - Returns: the ids, and the original transaction ids, of the purchases whose recorded state was different.
    func record(
        _ rows: [VerifyReceiptResponse.Purchase], of bundleId: BundleIdentifier, in environment: AppStoreEnvironment,
        askedAt: Timestamp
    ) -> [String] {
        let time = FactTime.asked(askedAt)
        // `in_app` is as old as the receipt, so the last row of a purchase in the response counts. Rows without an id
        // are all kept.
        var last: [String: Int] = [:]
        for (index, row) in rows.enumerated() { if let id = row.transactionId { last[id] = index } }
        let rows = rows.enumerated().filter { index, row in
            guard let id = row.transactionId else { return true }
            return last[id] == index
                && time.counts(over: times[RevocationKey(environment: environment, transactionId: id)])
        }.map(\.element)
        var changed: [VerifyReceiptResponse.Purchase] = []
        change(bundleId, environment) { revocations in
            for row in rows {
                if let id = row.transactionId,
                    revocations.revocation(transactionId: id, webOrderLineItemId: nil) != row.revocation
                {
                    changed.append(row)
                    unwritten.insert(.now, for: RevocationKey(environment: environment, transactionId: id), cost: 1)
                }
                revocations.insert(
                    row.revocation, transactionId: row.transactionId, webOrderLineItemId: row.webOrderLineItemId)
            }
        }
        guard !changed.isEmpty else { return [] }
        for row in changed {
            guard let id = row.transactionId else { continue }
            let key = RevocationKey(environment: environment, transactionId: id)
            times.insert(time, for: key, cost: 1)
            if row.revocation == nil { reversed.insert(true, for: key, cost: 1) } else { reversed.remove(key) }
        }
        writer?.save(
            revoked: changed.compactMap { RevocationRow($0, askedAt: askedAt) },
            valid: changed.compactMap { $0.revocation == nil ? $0.transactionId : nil }, askedAt: askedAt,
            of: AppScope(bundleId: bundleId, environment: environment))
        return changed.flatMap { [$0.originalTransactionId, $0.transactionId].compactMap(\.self) }
    }

    /// Changes the revocations of one app under the lock, counts new ones, and empties them if they exceed the
    /// capacity.
    ///
    /// - Parameter isNew: false if the revocations were counted before, because they come from the store.
    private func change(
        _ bundleId: BundleIdentifier, _ environment: AppStoreEnvironment, isNew: Bool = true,
        _ body: (inout RevocationIndex) -> Void
    ) {
        let key = AppScope(bundleId: bundleId, environment: environment)
        let added = indexes.withLock { indexes in
            let before = indexes[key]?.added ?? 0
            // Changed in place, because a copy of a hundred thousand entries for each response would be expensive.
            body(&indexes[key, default: RevocationIndex()])
            let after = indexes[key]?.added ?? 0
            if indexes[key]?.evict(over: Self.capacity) == true {
                coverage.withLock { _ = $0.incomplete.insert(key) }
            }
            return after - before
        }
        if isNew, added > 0 { counts?[bundleId].revocations.add(environment, by: Int64(added)) }
    }

    /// Returns the store if it may hold revocations of an app that are not in memory.
    func storeToAsk(about scope: AppScope) -> (any Store)? {
        guard let store else { return nil }
        return coverage.withLock { $0.isLoaded && !$0.incomplete.contains(scope) } ? nil : store
    }

    /// Adds revocations from the store, unless something newer is recorded here.
    func add(stored rows: [RevocationRow], in scope: AppScope) {
        let index = revocations(of: scope.bundleId, in: scope.environment)
        let new = rows.filter { row in
            let key = RevocationKey(environment: scope.environment, transactionId: row.transactionId)
            let known = index.revocation(transactionId: row.transactionId, webOrderLineItemId: nil)
            return isNew(row, in: scope.environment) && reversed[key] == nil
                && known != RevocationIndex.Revocation(date: row.date, reason: row.reason)
        }
        guard !new.isEmpty else { return }
        change(scope.bundleId, scope.environment, isNew: false) { revocations in
            for row in new {
                revocations.insert(row)
                record(row.transactionId, in: scope.environment, row.reportedAt)
            }
        }
    }

    /// Removes revocations that the store does not hold, unless they were recorded here a moment ago.
    func remove(_ transactionIds: [String], in scope: AppScope) {
        let index = revocations(of: scope.bundleId, in: scope.environment)
        let removed = transactionIds.filter { id in
            index.contains(id) && !isUnwritten(id, in: scope.environment)
        }
        guard !removed.isEmpty else { return }
        change(scope.bundleId, scope.environment, isNew: false) { revocations in
            for id in removed { revocations.insert(nil, transactionId: id, webOrderLineItemId: nil) }
        }
    }

    /// Returns the revocations of an app; empty if there are none.
    func revocations(of bundleId: BundleIdentifier, in environment: AppStoreEnvironment) -> RevocationIndex {
        indexes.withLock { $0[AppScope(bundleId: bundleId, environment: environment)] } ?? RevocationIndex()
    }

    /// Returns whether the revocation of one of these purchases was reversed after `since`.
    func hasReversal(of transactionIds: [String], since: Timestamp, in scope: AppScope) -> Bool {
        let index = revocations(of: scope.bundleId, in: scope.environment)
        return transactionIds.contains { id in
            guard let last = times[RevocationKey(environment: scope.environment, transactionId: id)], last.time > since
            else { return false }
            return !index.contains(id)
        }
    }

    /// Returns whether these records contain a revocation that a later verifyReceipt response has reversed.
    func contradicts(_ records: CustomerRecords) -> Bool {
        records.transactions.contains { transaction in
            guard transaction.payload.revocationDate != nil, let id = transaction.payload.transactionId else {
                return false
            }
            return reversed[RevocationKey(environment: records.environment, transactionId: id)] != nil
        }
    }

    /// Returns whether one of these purchases is recorded as revoked.
    func hasRevocation(
        for keys: CustomerIdentifiers, of bundleId: BundleIdentifier, in environment: AppStoreEnvironment
    ) -> Bool {
        indexes.withLock { indexes in
            guard let revocations = indexes[AppScope(bundleId: bundleId, environment: environment)],
                !revocations.isEmpty
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
    /// `nil` if the purchase is not revoked, or has no id.
    fileprivate init?(_ purchase: VerifyReceiptResponse.Purchase, askedAt: Timestamp) {
        guard let id = purchase.transactionId, let revocation = purchase.revocation else { return nil }
        self.init(
            transactionId: id, webOrderLineItemId: purchase.webOrderLineItemId, date: revocation.date,
            reason: revocation.reason, askedAt: askedAt)
    }
}
