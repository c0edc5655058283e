import AppStorePayloads
import Base
import Storage
import Synchronization
import Telemetry

/// The records of a customer, and the number of the cache entry that holds them.
package struct CachedRecords: Sendable {
    let records: CustomerRecords
    /// `nil` if the records are not cached.
    let serial: UInt64?
}

/// A cache of the Server API's most recent records. For example, an app that posts its receipt three times at launch
/// costs one lookup.
///
/// Failures are never cached. How long records are current is decided by ``Freshness``, with the app's `cacheSeconds`
/// as the maximum age.
///
/// A sandbox subscription renews every few minutes and costs nothing. Without the five seconds of that rule, one of
/// them could use up the hourly rate limit.
///
/// The key holds all identifiers of the receipt, so a receipt with a newer purchase has another key. Records that
/// contain all of its identifiers answer it too: the signed transactions and older receipts of one customer cost one
/// lookup. An entry takes about 6 KB per transaction, most of it the JWS.
final class CustomerRecordsCache: Sendable {
    struct Key: Hashable, Sendable {
        let bundleId: BundleIdentifier
        /// `nil` if the environment was not known before the lookup.
        let environment: AppStoreEnvironment?
        let identifiers: CustomerIdentifiers
    }

    /// What the App Store answered about a customer's download of the app.
    enum Download: Sendable {
        case known(Signed<AppTransactionPayload>)
        /// There is none.
        case absent
    }

    /// The records of one customer, and the state they were fetched in.
    private struct Entry: Sendable {
        let cached: CachedRecords
        var records: CustomerRecords { cached.records }
        /// `nil` if the App Store was not asked about it.
        var download: Download?
        let freshness: Freshness
        /// The identifiers under which changes of this customer are logged, and when the lookup began.
        let changeKeys: [String]
        let begunAt: ContinuousClock.Instant
        /// Whether this is the second lookup, made because the first result seemed out of date.
        let isConfirmed: Bool

        /// The size of the entry in bytes.
        var cost: Int {
            var cost = records.transactions.reduce(1_024) { $0 + 1_024 + $1.text.utf8.count + $1.payload.claims.count }
            if case .known(let signed)? = download { cost += signed.text.utf8.count + signed.payload.claims.count }
            return cost
        }
    }

    /// One identifier of a customer.
    private struct Identity: Hashable, Sendable {
        let bundleId: BundleIdentifier
        let environment: AppStoreEnvironment?
        let identifier: TransactionIdentifier

        init(_ identifier: TransactionIdentifier, of key: Key) {
            (bundleId, environment, self.identifier) = (key.bundleId, key.environment, identifier)
        }
    }

    /// The maximum number of identifiers of all customers together, about 150 bytes each.
    private static let maximumIdentities = 100_000
    /// The limit for all records together, in bytes.
    static let capacity = ProcessMemory.cacheSize(atMost: 48 << 20)

    private let entries = GenerationalCache<Key, Entry>(limit: capacity)
    /// The key of the newest whole history with an identifier: an original transaction id or an app transaction id.
    private let histories = GenerationalCache<Identity, Key>(limit: maximumIdentities)
    private let changes = CacheInvalidationLog()
    private let lastSerial = Atomic<UInt64>(0)

    /// Invalidates the records of the customers with these identifiers.
    func invalidate(_ identifiers: [String], in scope: AppScope) { changes.markChanged(identifiers, in: scope) }

    /// Removes everything. The results of lookups in flight are not cached either.
    func removeAll() {
        changes.markAllChanged()
        entries.removeAll()
        histories.removeAll()
    }

    /// Returns the cached records; `nil` if there are none or they have expired.
    ///
    /// - Parameters:
    ///   - lifetime: the current lifetime. It may be shorter than when the records were cached, because of a reload.
    ///   - confirmed: returns only the records of a second lookup, no older than five seconds.
    func records(for key: Key, at now: Timestamp, lifetime: Duration, confirmed: Bool = false) -> CachedRecords? {
        guard let (_, entry) = answer(to: key, at: now, lifetime: lifetime) else { return nil }
        let isRecent = entry.freshness.askedAt.duration(to: now) < Freshness.shortAge
        return !confirmed || (entry.isConfirmed && isRecent) ? entry.cached : nil
    }

    /// Returns whether the entry that was given this number is still valid.
    func isValid(_ serial: UInt64, for key: Key, at now: Timestamp, lifetime: Duration) -> Bool {
        answer(to: key, at: now, lifetime: lifetime)?.entry.cached.serial == serial
    }

    /// Returns the cached download of the app of a customer whose records are cached; `nil` if it is not cached.
    func download(for key: Key, at now: Timestamp, lifetime: Duration) -> Download? {
        answer(to: key, at: now, lifetime: lifetime)?.entry.download
    }

    /// Returns the entry for a key, otherwise that of the same customer if it has all identifiers of the key.
    private func answer(to key: Key, at now: Timestamp, lifetime: Duration) -> (key: Key, entry: Entry)? {
        if let entry = validEntry(for: key, at: now, lifetime: lifetime) { return (key, entry) }
        guard let first = key.identifiers.originalTransactionIds.first ?? key.identifiers.transactionIds.first,
            let other = histories[Identity(first, of: key)], other != key,
            let entry = validEntry(for: other, at: now, lifetime: lifetime), entry.records.contains(key.identifiers)
        else { return nil }
        return (other, entry)
    }

    /// Returns the entry unless it has expired, in which case it is removed.
    private func validEntry(for key: Key, at now: Timestamp, lifetime: Duration) -> Entry? {
        guard let entry = entries[key] else { return nil }
        let scope = AppScope(bundleId: key.bundleId, environment: entry.records.environment)
        guard entry.freshness.isCurrent(at: now, maximumAge: lifetime),
            changes.isUnchanged(entry.changeKeys, in: scope, since: entry.begunAt)
        else {
            entries.remove(key)
            return nil
        }
        return entry
    }

    /// Caches the download of the app with the records of the customer. It expires with them; without cached records
    /// it is not cached.
    func insert(_ download: Download, for key: Key, at now: Timestamp, lifetime: Duration) {
        guard let found = answer(to: key, at: now, lifetime: lifetime) else { return }
        var entry = found.entry
        entry.download = download
        entries.insert(entry, for: found.key, cost: entry.cost)
    }

    /// Caches records.
    ///
    /// - Parameters:
    ///   - askedAt: when the lookup began.
    ///   - lifetime: zero caches nothing.
    ///   - begin: when the lookup began. Later changes invalidate the records.
    ///   - isConfirmed: whether this was the second lookup.
    /// - Returns: the records, with the number of their entry.
    func insert(
        _ records: CustomerRecords, for key: Key, askedAt: Timestamp, lifetime: Duration,
        since begin: ContinuousClock.Instant,
        isConfirmed: Bool = false
    ) -> CachedRecords {
        let freshness = Freshness(of: records, askedAt: askedAt)
        guard freshness.isCurrent(at: askedAt, maximumAge: lifetime) else {
            entries.remove(key)
            return CachedRecords(records: records, serial: nil)
        }
        let serial = lastSerial.wrappingAdd(1, ordering: .relaxed).newValue
        let entry = Entry(
            cached: CachedRecords(records: records, serial: serial), freshness: freshness,
            changeKeys: records.watchedIdentifiers, begunAt: begin, isConfirmed: isConfirmed)
        entries.insert(entry, for: key, cost: entry.cost)
        // Several histories in one result can belong to several customers.
        if records.revision != nil, records.anomalies.isEmpty {
            for identifier in entry.changeKeys.lazy.compactMap(TransactionIdentifier.init(rawValue:)) {
                histories.insert(key, for: Identity(identifier, of: key), cost: 1)
            }
        }
        return entry.cached
    }
}

extension CustomerRecords {
    /// Returns whether all of the identifiers are in the records.
    fileprivate func contains(_ keys: CustomerIdentifiers) -> Bool {
        var missing = Set(keys.originalTransactionIds + keys.transactionIds)
        transactions.withUnsafeBufferPointer { transactions in
            for index in transactions.indices where !missing.isEmpty {
                for text in [
                    transactions[index].payload.transactionId, transactions[index].payload.originalTransactionId,
                    transactions[index].payload.appTransactionId,
                ] {
                    if let id = text.flatMap(TransactionIdentifier.init(rawValue:)) { missing.remove(id) }
                }
            }
        }
        return missing.isEmpty
    }
}
