package import AppStorePayloads
import AppStoreClients
import ConcurrencySupport
import Storage
import Responses
package import AppStoreTypes
import Synchronization

/// A cache of the revocations that Apple has reported, by verifyReceipt or by the Server API, so that a response from
/// the receipt alone shows refunds.
///
/// In memory, and bounded: if an app has too many, all of its revocations are dropped. With a store they are loaded
/// again after a restart. Lookups and notifications are stored as a whole by other parts; revocations that
/// verifyReceipt reports are written from here.
package final class RevocationCache: Sendable {
    /// One app in one environment.
    private struct Key: Hashable {
        let bundleId: BundleIdentifier
        let environment: AppStoreEnvironment
    }

    private struct RevocationKey: Hashable {
        let environment: AppStoreEnvironment
        let transactionId: String
    }

    /// The maximum number of ids of one app and environment, about 200 bytes each.
    private static let capacity = 100_000

    private let indexes = Mutex<[Key: RevocationIndex]>([:])
    /// The signing date of the newest record of each transaction.
    private let signedDates = GenerationalCache<RevocationKey, Timestamp>(limit: 200_000)
    /// Revoked by the Server API's records, and reversed by a later verifyReceipt response. An entry is removed when a
    /// newer record comes.
    private let reversed = GenerationalCache<RevocationKey, Bool>(limit: 10_000)
    private let writer: BackgroundStoreWriter?
    private let counts: ProxyMetrics?

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - writer: stores the revocations that verifyReceipt reports; `nil` if nothing is stored across restarts.
    ///   - counts: counts new revocations; `nil` counts nothing.
    init(writer: BackgroundStoreWriter? = nil, counts: ProxyMetrics? = nil) {
        self.writer = writer
        self.counts = counts
    }

    /// Adds the revocations that the store holds from before the start.
    func load(from store: any RevocationStore) async throws(StorageError) {
        for (scope, rows) in try await stored(in: store) {
            change(scope.bundleId, scope.environment, isNew: false) { revocations in
                for row in rows {
                    // If the store was opened late, a newer record may have been received already.
                    let last = signedDates[
                        RevocationKey(environment: scope.environment, transactionId: row.transactionId)]
                    if let last, row.signedDate.map({ $0 < last }) ?? true { continue }
                    revocations.insert(row)
                    if let date = row.signedDate { record(row.transactionId, in: scope.environment, signed: date) }
                }
            }
        }
    }

    /// Replaces the cache with the store's content. It never holds less than before in the meantime, and stays
    /// unchanged if the store cannot be read.
    func reload(from store: any RevocationStore) async throws(StorageError) {
        var loaded: [Key: RevocationIndex] = [:]
        for (scope, rows) in try await stored(in: store) {
            for row in rows {
                loaded[Key(bundleId: scope.bundleId, environment: scope.environment), default: .init()].insert(row)
            }
        }
        signedDates.removeAll()
        reversed.removeAll()
        indexes.withLock { $0 = loaded }
        // Adds what was stored during the read, and the signing dates of all records.
        try await load(from: store)
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
            record(id, in: environment, signed: date)
            revocations.insert(transaction)
        }
    }

    private func record(_ transactionId: String, in environment: AppStoreEnvironment, signed date: Timestamp) {
        signedDates.insert(date, for: RevocationKey(environment: environment, transactionId: transactionId), cost: 1)
    }

    /// Compares the cache with the stored records of a customer. Another process may have written them: a purchase
    /// whose newer record is not revoked is removed from the cache. Revocations that verifyReceipt reported have no
    /// signing date to compare, and stay.
    func reconcile(stored records: CustomerRecords, of bundleId: BundleIdentifier) {
        change(bundleId, records.environment) { revocations in
            for transaction in records.transactions {
                guard let id = transaction.payload.transactionId, let date = transaction.payload.signedDate,
                    let last = signedDates[RevocationKey(environment: records.environment, transactionId: id)],
                    date > last
                else { continue }
                record(id, in: records.environment, signed: date)
                reversed.remove(RevocationKey(environment: records.environment, transactionId: id))
                revocations.insert(transaction.payload)
            }
        }
    }

    /// Returns false if a record with a later signing date was recorded before, because a lookup can be in flight for a
    /// while.
    private func isNew(_ transaction: TransactionPayload, in environment: AppStoreEnvironment) -> Bool {
        guard let id = transaction.transactionId, let date = transaction.signedDate,
            let last = signedDates[RevocationKey(environment: environment, transactionId: id)]
        else { return true }
        return date >= last
    }

    /// Records a customer's records from a lookup. They replace what verifyReceipt reported before, unless a newer
    /// record was received in the meantime.
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

    /// Records the rows of a verifyReceipt response.
    ///
    /// - Returns: the ids, and the original transaction ids, of the purchases whose recorded state was different.
    func record(
        _ rows: [VerifyReceiptResponse.Purchase], of bundleId: BundleIdentifier, in environment: AppStoreEnvironment
    ) -> [String] {
        // `in_app` is as old as the receipt, so the last row of a purchase in the response counts.
        var last: [String: Int] = [:]
        for (index, row) in rows.enumerated() { if let id = row.transactionId { last[id] = index } }
        let rows = rows.enumerated().filter { index, row in
            row.transactionId.flatMap { last[$0] } ?? index == index
        }.map(\.element)
        var changed: [VerifyReceiptResponse.Purchase] = []
        change(bundleId, environment) { revocations in
            for row in rows {
                if let id = row.transactionId,
                    revocations.revocation(transactionId: id, webOrderLineItemId: nil) != row.revocation
                {
                    changed.append(row)
                }
                revocations.insert(
                    row.revocation, transactionId: row.transactionId, webOrderLineItemId: row.webOrderLineItemId)
            }
        }
        guard !changed.isEmpty else { return [] }
        for row in changed {
            guard let id = row.transactionId else { continue }
            let key = RevocationKey(environment: environment, transactionId: id)
            if row.revocation == nil { reversed.insert(true, for: key, cost: 1) } else { reversed.remove(key) }
        }
        writer?.save(
            revoked: changed.compactMap(RevocationRow.init),
            valid: changed.compactMap { $0.revocation == nil ? $0.transactionId : nil },
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
        let key = Key(bundleId: bundleId, environment: environment)
        let added = indexes.withLock { indexes in
            let before = indexes[key]?.added ?? 0
            // Changed in place, because a copy of a hundred thousand entries for each response would be expensive.
            body(&indexes[key, default: RevocationIndex()])
            let after = indexes[key]?.added ?? 0
            if indexes[key].map({ $0.count > Self.capacity }) == true { indexes[key] = RevocationIndex() }
            return after - before
        }
        if isNew, added > 0 { counts?[bundleId].recordRevocations(in: environment, count: added) }
    }

    /// Returns the revocations of an app; empty if there are none.
    func revocations(of bundleId: BundleIdentifier, in environment: AppStoreEnvironment) -> RevocationIndex {
        indexes.withLock { $0[Key(bundleId: bundleId, environment: environment)] } ?? RevocationIndex()
    }

    /// Returns whether the revocation of one of these purchases was reversed after `since`.
    func hasReversal(of transactionIds: [String], since: Timestamp, in scope: AppScope) -> Bool {
        let index = revocations(of: scope.bundleId, in: scope.environment)
        return transactionIds.contains { id in
            guard let date = signedDates[RevocationKey(environment: scope.environment, transactionId: id)], date > since
            else {
                return false
            }
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
            guard let revocations = indexes[Key(bundleId: bundleId, environment: environment)], !revocations.isEmpty
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
    fileprivate init?(_ purchase: VerifyReceiptResponse.Purchase) {
        guard let id = purchase.transactionId, let revocation = purchase.revocation else { return nil }
        self.init(
            transactionId: id, webOrderLineItemId: purchase.webOrderLineItemId, date: revocation.date,
            reason: revocation.reason)
    }
}
