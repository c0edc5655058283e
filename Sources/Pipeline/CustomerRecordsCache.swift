import AppStore
import Ledger
import StoreTypes

/// What the Server API told moments ago, so that an app that posts its receipt three times at its start costs one
/// look-up.
///
/// Kept are only complete records, never failures, for as long as the app's settings say, and never past an instant at
/// which a subscription ends or renews. From two minutes before that instant to two minutes after it they are kept for
/// five seconds. A sandbox subscription renews every few minutes and costs nothing; without this limit one of them could
/// use up the hour's calls. The key holds all identifiers of the receipt: one with a newer purchase is another
/// key. About 6 KB a transaction, most of it the signed text.
final class CustomerRecordsCache: Sendable {
    struct Key: Hashable, Sendable {
        let bundleId: BundleIdentifier
        /// Nil where it was not known.
        let environment: AppStoreEnvironment?
        let identifiers: CustomerIdentifiers
    }

    private struct Entry: Sendable {
        let records: CustomerRecords
        let storedAt: Timestamp
        let staleAt: Timestamp
        /// By what the customer's changes are noted, and when it was asked.
        let watched: [String]
        let mark: UInt64
        /// Asked a second time, because the first answer seemed out of date.
        let isConfirmed: Bool
    }

    /// Of all records together, in bytes.
    static let capacity = 48 << 20
    /// Before and after the end of a period, in milliseconds.
    private static let margin: Int64 = 120_000
    /// How long records are kept within the margin, in milliseconds.
    private static let shortLifetime: Int64 = 5_000

    private let memory = GenerationalCache<Key, Entry>(limit: capacity)
    private let changes = CacheInvalidationLog()

    /// To be taken before asking.
    var mark: UInt64 { changes.mark }

    /// Something became known of the customer of one of these.
    func invalidate(_ identifiers: [String], in scope: AppScope) { changes.markChanged(identifiers, in: scope) }

    /// What is being asked at the moment is not kept either.
    func removeAll() {
        changes.markAllChanged()
        memory.removeAll()
    }

    /// - Parameters:
    ///   - lifetime: that holds now, in milliseconds; the one they were kept for may have been longer.
    ///   - confirmed: only records that were asked for a second time, within the last seconds.
    func records(for key: Key, at now: Timestamp, lifetime: Int64, confirmed: Bool = false) -> CustomerRecords? {
        guard let entry = memory[key] else { return nil }
        // A clock that was set back must not make them last longer.
        let scope = AppScope(bundleId: key.bundleId, environment: entry.records.environment)
        guard entry.storedAt <= now, now < entry.staleAt, now < entry.storedAt.advanced(byMilliseconds: lifetime),
            changes.isUnchanged(entry.watched, in: scope, since: entry.mark)
        else {
            memory.remove(key)
            return nil
        }
        let isRecent = now < entry.storedAt.advanced(byMilliseconds: Self.shortLifetime)
        return !confirmed || (entry.isConfirmed && isRecent) ? entry.records : nil
    }

    /// - Parameters:
    ///   - lifetime: in milliseconds; 0 keeps nothing.
    ///   - mark: of before the records were asked for.
    ///   - isConfirmed: they were asked for a second time.
    func insert(
        _ records: CustomerRecords, for key: Key, at now: Timestamp, lifetime: Int64, askedAt mark: UInt64,
        isConfirmed: Bool = false
    ) {
        guard let staleAt = Self.staleAt(records, keptAt: now, lifetime: lifetime) else { return memory.remove(key) }
        let size = records.transactions.reduce(1_024) { $0 + 1_024 + $1.text.utf8.count + $1.payload.claims.count }
        let entry = Entry(
            records: records, storedAt: now, staleAt: staleAt, watched: records.watchedIdentifiers, mark: mark,
            isConfirmed: isConfirmed)
        memory.insert(entry, for: key, cost: size)
    }

    /// Nil for what must not be kept at all.
    static func staleAt(_ records: CustomerRecords, keptAt now: Timestamp, lifetime: Int64) -> Timestamp? {
        guard lifetime > 0, records.anomalies.isEmpty else { return nil }
        var staleAt = now.milliseconds + lifetime
        for turn in records.turns.map(\.milliseconds) where turn > now.milliseconds - margin {
            let end = max(turn - margin, now.milliseconds + shortLifetime)
            staleAt = min(staleAt, turn > now.milliseconds ? min(turn, end) : end)
        }
        return Timestamp(milliseconds: staleAt)
    }
}

extension CustomerRecords {
    /// The instants at which a subscription of the customer ends or renews.
    fileprivate var turns: [Timestamp] {
        transactions.compactMap(\.payload.expiresDate)
            + subscriptions.flatMap { subscription in
                [
                    subscription.transaction?.payload.expiresDate, subscription.renewal?.payload.renewalDate,
                    subscription.renewal?.payload.gracePeriodExpiresDate,
                ].compactMap { $0 }
            }
    }
}
