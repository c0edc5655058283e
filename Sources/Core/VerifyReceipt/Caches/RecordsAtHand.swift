import ReceiptBridgeAppStore
package import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeStorage
import Synchronization

/// The records of customers in memory. A lookup adds what the App Store returned, a read of the store what that holds.
/// For example, an app that posts its receipt three times at launch costs one lookup.
///
/// How old the records may be is for the caller to decide, with ``Freshness``. What else the two questions want:
///
/// | the records | ``lookedUp(_:at:maximumAge:confirmed:)``, for `api` | ``stored(_:at:)``, for `stored` |
/// |---|---|---|
/// | of a lookup | no later event of the customer | and taken within a minute, and not replaced in the store |
/// | of the store | not used: irregularities of the lookup are not stored | the same |
///
/// The key holds all identifiers of the receipt, so a receipt with a newer purchase has another key. Records of a
/// lookup that contain all of its identifiers answer it too: the signed transactions and older receipts of one customer
/// cost one lookup. An entry takes about 6 KB per transaction, most of it the JWS. Failures are never kept.
package final class RecordsAtHand: Sendable {
    package struct Key: Hashable, Sendable {
        let bundleId: BundleIdentifier
        /// `nil` if the environment was not known before the lookup.
        let environment: AppStoreEnvironment?
        let identifiers: CustomerIdentifiers

        package init(
            _ identifiers: CustomerIdentifiers, of bundleId: BundleIdentifier, in environment: AppStoreEnvironment?
        ) {
            (self.identifiers, self.bundleId, self.environment) = (identifiers, bundleId, environment)
        }

        /// The size of the key in a cache, in bytes. A receipt has an identifier for each of its purchases.
        fileprivate var cost: Int {
            150 + 48 * (identifiers.originalTransactionIds.count + identifiers.transactionIds.count)
        }
    }

    /// What the App Store answered about a customer's download of the app.
    package enum Download: Sendable {
        case known(Signed<AppTransactionPayload>)
        /// There is none.
        case absent
    }

    package enum Origin: Sendable {
        case lookup
        /// A second lookup, made because the first result seemed out of date.
        case confirmation
        case store
    }

    /// Records of a lookup and of the store have two places, because the store's do not answer every question.
    private struct Place: Hashable, Sendable {
        let key: Key
        let isStored: Bool
    }

    private struct Entry: Sendable {
        let key: Key
        var found: DatedRecords
        let origin: Origin
        /// The identifiers under which changes of this customer are logged.
        let identifiers: [String]
        /// When the lookup or the read began.
        let begunAt: ContinuousClock.Instant
        let takenAt: Timestamp
        /// When the history was last read from its beginning.
        let wholeSince: Timestamp
        /// `nil` if the App Store was not asked about it.
        var download: Download?

        var cost: Int {
            var cost = found.records.transactions.reduce(1_024 + key.cost) {
                $0 + 1_024 + $1.text.utf8.count + $1.payload.claims.count
            }
            if case .known(let signed)? = download { cost += signed.text.utf8.count + signed.payload.claims.count }
            return cost
        }
    }

    private struct Identity: Hashable, Sendable {
        let bundleId: BundleIdentifier
        let environment: AppStoreEnvironment?
        let identifier: TransactionIdentifier

        init(_ identifier: TransactionIdentifier, of key: Key) {
            (bundleId, environment, self.identifier) = (key.bundleId, key.environment, identifier)
        }
    }

    /// How long records answer for the store. It bounds how long a change that another process writes to the same
    /// file goes unnoticed.
    private static let storedLifetime = Duration.minutes(1)

    private let entries = GenerationalCache<Place, Entry>(limit: ProcessMemory.Cache.records.size())
    /// The key of the newest whole history with an identifier: an original transaction id or an app transaction id.
    private let histories = GenerationalCache<Identity, Key>(limit: ProcessMemory.Cache.identities.size())
    private let changes = CacheInvalidationLog()
    private let lastVersion = Atomic<UInt64>(0)

    package init() {}

    // MARK: - Changes

    /// Logs that something about the customer with these identifiers changed. Earlier records are not used any more.
    package func markChanged(_ identifiers: [String], in scope: AppScope) {
        changes.markChanged(identifiers, in: scope)
    }

    /// See ``CacheInvalidationLog/markStored(_:in:by:)``.
    package func markStored(_ identifiers: [String], in scope: AppScope, by lookup: ContinuousClock.Instant?) {
        changes.markStored(identifiers, in: scope, by: lookup)
    }

    /// Removes everything. The results of lookups and reads in flight are not used later either.
    package func removeAll() {
        changes.markAllChanged()
        entries.removeAll()
        histories.removeAll()
    }

    // MARK: - Questions

    /// - Parameter confirmed: only the records of a second lookup, no older than five seconds.
    package func lookedUp(
        _ key: Key, at now: Timestamp, maximumAge: Duration, confirmed: Bool = false
    ) -> DatedRecords? {
        guard let entry = currentLookup(key, at: now, maximumAge: maximumAge) else { return nil }
        let isRecent = entry.found.freshness.askedAt.duration(to: now) < Freshness.shortAge
        return !confirmed || (entry.origin == .confirmation && isRecent) ? entry.found : nil
    }

    /// Returns records of a lookup that would be current if the App Store's statuses said the same.
    func confirmable(_ key: Key, at now: Timestamp, maximumAge: Duration) -> DatedRecords? {
        lookup(key) { entry in
            entry.found.freshness.isCurrentIfConfirmed(at: now, maximumAge: maximumAge)
                && isUnchanged(entry, inStore: false)
        }?.found
    }

    /// Returns the whole history that a lookup of the customer returned, however much has changed since, and when it
    /// was last read from its beginning: the next lookup needs only the later changes. `nil` if there is none, or if
    /// that was longer ago than the maximum age. A history of the store is none: it may lack what its revision has
    /// passed.
    func earlierHistory(
        of key: Key, at now: Timestamp, maximumAge: Duration
    ) -> (history: EarlierHistory, wholeSince: Timestamp)? {
        let found = lookup(key) { entry in
            let age = entry.wholeSince.duration(to: now)
            return entry.found.records.isWholeHistory && age >= .zero && age < maximumAge
        }
        guard let found, let revision = found.found.records.revision else { return nil }
        return (EarlierHistory(transactions: found.found.records.transactions, revision: revision), found.wholeSince)
    }

    /// Returns the records that the store holds or is about to receive; `nil` if only a read of the store can tell.
    package func stored(_ key: Key, at now: Timestamp) -> DatedRecords? {
        func answersForStore(_ entry: Entry) -> Bool {
            entry.takenAt <= now && entry.takenAt.duration(to: now) < Self.storedLifetime
                && isUnchanged(entry, inStore: true)
        }
        let lookup = lookup(key) { $0.found.records.isWholeHistory && answersForStore($0) }?.found
        let read = entries[Place(key: key, isStored: true)].flatMap { answersForStore($0) ? $0.found : nil }
        guard let lookup, let read else { return lookup ?? read }
        return read.freshness.askedAt > lookup.freshness.askedAt ? read : lookup
    }

    /// Returns the download of the app of a customer whose looked up records are current; `nil` if it is not known.
    func download(of key: Key, at now: Timestamp, maximumAge: Duration) -> Download? {
        currentLookup(key, at: now, maximumAge: maximumAge)?.download
    }

    private func currentLookup(_ key: Key, at now: Timestamp, maximumAge: Duration) -> Entry? {
        lookup(key) { entry in
            entry.found.freshness.isCurrent(at: now, maximumAge: maximumAge) && isUnchanged(entry, inStore: false)
        }
    }

    /// Returns the lookup of a key, otherwise that of the same customer if it has all identifiers of the key.
    private func lookup(_ key: Key, where isUsable: (Entry) -> Bool) -> Entry? {
        if let entry = entries[Place(key: key, isStored: false)], isUsable(entry) { return entry }
        guard let first = key.identifiers.originalTransactionIds.first ?? key.identifiers.transactionIds.first,
            let other = histories[Identity(first, of: key)], other != key,
            let entry = entries[Place(key: other, isStored: false)], isUsable(entry),
            entry.found.records.contains(key.identifiers)
        else { return nil }
        return entry
    }

    private func isUnchanged(_ entry: Entry, inStore: Bool) -> Bool {
        let scope = AppScope(bundleId: entry.key.bundleId, environment: entry.found.records.environment)
        return changes.isUnchanged(entry.identifiers, in: scope, since: entry.begunAt, inStore: inStore)
    }

    // MARK: - Additions

    /// - Parameters:
    ///   - begin: when their lookup or their read began. Later changes make them out of date.
    ///   - wholeSince: when the history was last read from its beginning; `nil` if the lookup did that.
    package func add(
        _ records: CustomerRecords, _ freshness: Freshness, for key: Key, from origin: Origin,
        since begin: ContinuousClock.Instant, _ takenAt: Timestamp, wholeSince: Timestamp? = nil
    ) -> DatedRecords {
        let version = lastVersion.wrappingAdd(1, ordering: .relaxed).newValue
        let entry = Entry(
            key: key, found: DatedRecords(records: records, freshness: freshness, version: version), origin: origin,
            identifiers: records.watchedIdentifiers, begunAt: begin, takenAt: takenAt,
            wholeSince: wholeSince ?? freshness.askedAt)
        insert(entry)
        if origin != .store, records.isWholeHistory {
            for identifier in entry.identifiers.lazy.compactMap(TransactionIdentifier.init(rawValue:)) {
                histories.insert(key, for: Identity(identifier, of: key), cost: key.cost)
            }
        }
        return entry.found
    }

    /// Notes that the App Store's statuses, asked for at `time`, say what these records say. Returns the records, or
    /// `nil` if they are not at hand any more or something about the customer changed in the meantime.
    func confirm(_ version: UInt64, of key: Key, at time: Timestamp) -> DatedRecords? {
        func isThat(_ entry: Entry) -> Bool { entry.found.version == version && isUnchanged(entry, inStore: false) }
        let read = entries[Place(key: key, isStored: true)].flatMap { isThat($0) ? $0 : nil }
        guard var entry = lookup(key, where: isThat) ?? read else { return nil }
        entry.found = DatedRecords(
            records: entry.found.records, freshness: entry.found.freshness.confirmed(at: time), version: version)
        insert(entry)
        return entry.found
    }

    /// Adds the download of the app to the records of its customer. Without current records of a lookup it is not kept.
    func add(_ download: Download, for key: Key, at now: Timestamp, maximumAge: Duration) {
        guard var entry = currentLookup(key, at: now, maximumAge: maximumAge) else { return }
        entry.download = download
        insert(entry)
    }

    private func insert(_ entry: Entry) {
        entries.insert(entry, for: Place(key: entry.key, isStored: entry.origin == .store), cost: entry.cost)
    }
}
