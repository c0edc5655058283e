import AppStore
import Ledger
import Logging
import Purchases
import StoreTypes
import Synchronization

/// The store as a source: what look-ups and notifications told of a customer, without asking anybody.
package struct StoreSource: Sendable {
    private struct Key: Hashable, Sendable {
        let scope: AppScope
        let keys: CustomerIdentifiers
    }

    private struct Entry: Sendable {
        let snapshot: StoredCustomerSnapshot
        let watched: [String]
        let mark: UInt64
        let readAt: Timestamp
    }

    /// Of all customers in memory together, in bytes.
    private static let capacity = 64 << 20
    /// In milliseconds: how long another process that writes to the same file goes unnoticed.
    private static let lifetime: Int64 = 60_000

    private let store: Store
    private let revocations: RevocationCache
    private let logger: Logger
    private let memory = GenerationalCache<Key, Entry>(limit: capacity)
    private let lines = LogThrottle<String>()
    private let changes: CacheInvalidationLog
    private let serials = SequenceGenerator()

    /// Copies of a source count together.
    private final class SequenceGenerator: Sendable {
        let value = Atomic<UInt64>(0)
    }

    /// - Parameter changes: told of whom something new is in the store.
    init(store: Store, changes: CacheInvalidationLog, revocations: RevocationCache, logger: Logger) {
        self.store = store
        self.changes = changes
        self.revocations = revocations
        self.logger = logger
    }

    /// What is kept of the customer of an authentic receipt; nil where that is not the whole history, or the receipt
    /// knows more, or the store cannot be read within the limit.
    func snapshot(
        on keys: CustomerIdentifiers, in scope: AppScope, at now: Timestamp, within limit: Duration
    ) async -> StoredCustomerSnapshot? {
        let key = Key(scope: scope, keys: keys)
        if let entry = memory[key], entry.readAt <= now, now.milliseconds - entry.readAt.milliseconds < Self.lifetime,
            changes.isUnchanged(entry.watched, in: scope, since: entry.mark)
        {
            return revocations.contradicts(entry.snapshot.records) ? nil : revised(entry.snapshot, in: scope)
        }
        let mark = changes.mark
        let stored: StoredCustomer?
        do throws(StorageError) {
            stored = try await customer(of: keys, in: scope, within: limit)
        } catch {
            if !Task.isCancelled, lines.allows("read", at: now) {
                logger.warning("the store cannot be read", metadata: ["reason": "\(error)"])
            }
            return nil
        }
        guard let stored else { return nil }
        guard let records = CustomerRecords(stored, in: scope) else {
            if lines.allows("damaged", at: now) { logger.error("the store holds what it was not given") }
            return nil
        }
        guard !stored.contradicts(records) else { return nil }
        revocations.compare(stored: records, of: scope.bundleId)
        let snapshot = StoredCustomerSnapshot(
            records: records, askedAt: stored.askedAt, needsLookup: stored.needsLookup,
            serial: serials.value.wrappingAdd(1, ordering: .relaxed).newValue)
        let size = records.transactions.reduce(1_024) { $0 + 1_024 + $1.text.utf8.count + $1.payload.claims.count }
        memory.insert(
            Entry(snapshot: snapshot, watched: records.watchedIdentifiers, mark: mark, readAt: now), for: key,
            cost: size)
        return revocations.contradicts(records) ? nil : revised(snapshot, in: scope)
    }

    /// A disk can hang, and then so does whoever reads.
    private func customer(
        of keys: CustomerIdentifiers, in scope: AppScope, within limit: Duration
    ) async throws(StorageError) -> StoredCustomer? {
        let reading = Task { () -> Result<StoredCustomer?, StorageError> in
            do throws(StorageError) {
                return .success(try await store.customer(of: keys, in: scope))
            } catch {
                return .failure(error)
            }
        }
        guard let read = await TaskTimeout.value(of: reading, within: limit) else {
            throw StorageError(.locked, at: store.path, "reading takes longer than there is time")
        }
        return try read.get()
    }

    /// Nothing that was read before counts any more.
    func removeAll() {
        changes.markAllChanged()
        memory.removeAll()
    }

    /// With the refunds that somebody else told of, and that the records do not know.
    private func revised(_ snapshot: StoredCustomerSnapshot, in scope: AppScope) -> StoredCustomerSnapshot {
        let known = revocations.revocations(of: scope.bundleId, in: scope.environment)
        guard !known.isEmpty else { return snapshot }
        func revised(_ signed: Signed<TransactionPayload>) -> Signed<TransactionPayload> {
            guard signed.payload.revocationDate == nil, signed.payload.type != ProductType.consumable.rawValue,
                let revocation = known.revocation(transactionId: signed.payload.transactionId, webOrderLineItemId: nil)
            else { return signed }
            var payload = signed.payload
            payload.revocationDate = revocation.date
            payload.revocationReason = revocation.reason
            return Signed(payload: payload, text: signed.text)
        }
        let records = snapshot.records
        guard
            records.transactions.contains(where: {
                $0.payload.revocationDate == nil && $0.payload.transactionId.map(known.mentions) ?? false
            })
        else { return snapshot }
        return StoredCustomerSnapshot(
            records: CustomerRecords(
                environment: records.environment, bundleId: records.bundleId, appAppleId: records.appAppleId,
                transactions: records.transactions.map(revised), subscriptions: records.subscriptions,
                revision: records.revision),
            askedAt: snapshot.askedAt, needsLookup: snapshot.needsLookup)
    }
}

extension StoredCustomer {
    /// Whether these records, which are this customer's, call a purchase taken back that was called good since.
    fileprivate func contradicts(_ records: CustomerRecords) -> Bool {
        records.transactions.contains { transaction in
            guard let revoked = RevocationRow(transaction.payload) else { return false }
            return !revokedTransactionIds.contains(revoked.transactionId)
        }
    }
}
