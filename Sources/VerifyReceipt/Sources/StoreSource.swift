import AppStoreClients
import AppStorePayloads
import Base
import BridgeConfiguration
import Logging
import Responses
import Storage
import Synchronization
import Telemetry

/// The reads of the source `stored`: customer records from earlier lookups and notifications, without a Server API
/// call.
struct StoreSource: Sendable {
    private struct Key: Hashable, Sendable {
        let scope: AppScope
        let keys: CustomerIdentifiers
    }

    /// A cached snapshot, and when its read began.
    private struct Entry: Sendable {
        let snapshot: StoredCustomerSnapshot
        let identifiers: [String]
        let begunAt: ContinuousClock.Instant
        let readAt: Timestamp
    }

    /// Maximum size of all cached customers together, in bytes.
    private static let capacity = ProcessMemory.cacheSize(atMost: 64 << 20)
    /// Lifetime of a cached customer. It bounds how long a change that another process writes to the same file goes
    /// unnoticed.
    private static let lifetime = Duration.minutes(1)

    private let store: any Store
    private let revocations: RevocationCache
    private let logger: Logger
    private let cache = GenerationalCache<Key, Entry>(limit: capacity)
    private let logThrottle = LogThrottle<String>()
    private let changes: CacheInvalidationLog
    private let serials = SerialCounter()

    /// The counter of snapshot serials. A class, because copies of a source share it.
    private final class SerialCounter: Sendable {
        let value = Atomic<UInt64>(0)
    }

    /// Creates the source.
    ///
    /// - Parameter changes: the log of customers whose data in the store changed.
    init(store: any Store, changes: CacheInvalidationLog, revocations: RevocationCache, logger: Logger) {
        self.store = store
        self.changes = changes
        self.revocations = revocations
        self.logger = logger
    }

    /// Returns the stored snapshot of the customer of an authentic receipt. Returns `nil` if the store does not have
    /// the whole history, if the receipt has purchases that the history has not, or if the store cannot be read
    /// within the limit.
    func snapshot(
        of keys: CustomerIdentifiers, in scope: AppScope, at now: Timestamp, within limit: Duration
    ) async -> StoredCustomerSnapshot? {
        let key = Key(scope: scope, keys: keys)
        if let entry = cache[key], entry.readAt <= now, entry.readAt.duration(to: now) < Self.lifetime,
            changes.isUnchanged(entry.identifiers, in: scope, since: entry.begunAt)
        {
            return revocations.contradicts(entry.snapshot.records) ? nil : revised(entry.snapshot, in: scope)
        }
        let begin = ContinuousClock.now
        let stored: StoredCustomer?
        do throws(StorageError) {
            stored = try await customer(of: keys, in: scope, within: limit)
        } catch {
            if !Task.isCancelled, logThrottle.allows("read", at: now.sinceEpoch) {
                logger.warning(
                    "cannot read a customer from the store; trying the next source", metadata: ["reason": "\(error)"])
            }
            return nil
        }
        guard let stored else { return nil }
        guard let records = CustomerRecords(stored, in: scope) else {
            if logThrottle.allows("damaged", at: now.sinceEpoch) {
                logger.error("store row failed its integrity check")
            }
            return nil
        }
        guard !stored.contradicts(records) else { return nil }
        revocations.reconcile(stored: records, of: scope.bundleId)
        // Revocations that are not in memory; changes of them afterwards invalidate the snapshot.
        _ = await revocations.revocations(
            of: PurchaseIdentifiers(transactionIds: records.transactions.compactMap(\.payload.transactionId)),
            in: scope, within: limit)
        let snapshot = StoredCustomerSnapshot(
            records: records,
            freshness: Freshness(of: records, askedAt: stored.askedAt, needsLookup: stored.needsLookup),
            serial: serials.value.wrappingAdd(1, ordering: .relaxed).newValue)
        let size = records.transactions.reduce(1_024) { $0 + 1_024 + $1.text.utf8.count + $1.payload.claims.count }
        cache.insert(
            Entry(snapshot: snapshot, identifiers: records.watchedIdentifiers, begunAt: begin, readAt: now), for: key,
            cost: size)
        return revocations.contradicts(records) ? nil : revised(snapshot, in: scope)
    }

    /// Reads a customer from the store. The limit is needed because a disk can block a read indefinitely.
    private func customer(
        of keys: CustomerIdentifiers, in scope: AppScope, within limit: Duration
    ) async throws(StorageError) -> StoredCustomer? {
        let reading = Task { () -> Result<StoredCustomer?, StorageError> in
            do throws(StorageError) {
                return .success(try await store.customers.customer(of: keys, in: scope))
            } catch {
                return .failure(error)
            }
        }
        guard let read = await TaskTimeout.value(of: reading, within: limit) else {
            throw StorageError(.locked, at: store.place, "reading exceeded its time limit")
        }
        return try read.get()
    }

    /// Discards everything that was read from the store before.
    func removeAll() {
        changes.markAllChanged()
        cache.removeAll()
    }

    /// Returns the snapshot with revocations that other sources reported and the stored records do not have yet.
    private func revised(_ snapshot: StoredCustomerSnapshot, in scope: AppScope) -> StoredCustomerSnapshot {
        let index = revocations.revocations(of: scope.bundleId, in: scope.environment)
        guard !index.isEmpty else { return snapshot }
        func revised(_ signed: Signed<TransactionPayload>) -> Signed<TransactionPayload> {
            guard signed.payload.revocationDate == nil, !signed.payload.isConsumable,
                let revocation = index.revocation(transactionId: signed.payload.transactionId, webOrderLineItemId: nil)
            else { return signed }
            var payload = signed.payload
            payload.revocationDate = revocation.date
            payload.revocationReason = revocation.reason
            return Signed(payload: payload, text: signed.text)
        }
        let records = snapshot.records
        guard
            records.transactions.contains(where: {
                $0.payload.revocationDate == nil && $0.payload.transactionId.map(index.contains) ?? false
            })
        else { return snapshot }
        let revisedRecords = CustomerRecords(
            environment: records.environment, bundleId: records.bundleId, appAppleId: records.appAppleId,
            transactions: records.transactions.map(revised), subscriptions: records.subscriptions,
            revision: records.revision)
        return StoredCustomerSnapshot(
            records: revisedRecords, freshness: snapshot.freshness.withUnsignedRefund)
    }
}

extension StoredCustomer {
    /// Returns whether these records of this customer show a purchase as revoked although a later record reversed the
    /// revocation.
    fileprivate func contradicts(_ records: CustomerRecords) -> Bool {
        records.transactions.contains { transaction in
            guard let revoked = RevocationRow(transaction.payload) else { return false }
            return !revokedTransactionIds.contains(revoked.transactionId)
        }
    }
}
