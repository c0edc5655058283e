import AppStore
import Ledger
import StoreTypes

/// What the Server API told moments ago, so that an app that posts its receipt three times at its start costs one
/// look-up.
///
/// Kept are only complete records, never failures, for as long as the app's settings say, and never past an instant at
/// which a subscription ends or renews: from two minutes before it to two minutes after it every request asks. The key
/// holds all identifiers of the receipt: one with a newer purchase is another key. About 6 KB a transaction, most of it
/// the signed text.
final class RecordCache: Sendable {
    struct Key: Hashable, Sendable {
        let bundleId: BundleIdentifier
        /// Nil where it was not known.
        let environment: AppStoreEnvironment?
        let identifiers: LookupKeys
    }

    private struct Entry: Sendable {
        let records: CustomerRecords
        let storedAt: Timestamp
        let staleAt: Timestamp
        /// By what the customer's changes are noted, and when it was asked.
        let watched: [String]
        let mark: UInt64
    }

    /// Of all records together, in bytes.
    static let capacity = 48 << 20
    /// Before and after the end of a period, in milliseconds.
    private static let margin: Int64 = 120_000

    private let memory = BoundedMemory<Key, Entry>(limit: capacity)
    private let changes = RecentChanges()

    /// To be taken before asking.
    var mark: UInt64 { changes.mark }

    /// Something became known of the customer of one of these.
    func forget(_ identifiers: [String], in scope: LedgerScope) { changes.note(identifiers, in: scope) }

    /// What is being asked at the moment is not kept either.
    func forgetAll() {
        changes.noteEverybody()
        memory.forgetAll()
    }

    /// - Parameter lifetime: that holds now, in milliseconds; the one they were kept for may have been longer.
    func records(for key: Key, at now: Timestamp, lifetime: Int64) -> CustomerRecords? {
        guard let entry = memory[key] else { return nil }
        // A clock that was set back must not make them last longer.
        let scope = LedgerScope(bundleId: key.bundleId, environment: entry.records.environment)
        guard entry.storedAt <= now, now < entry.staleAt, now < entry.storedAt.advanced(byMilliseconds: lifetime),
            changes.isUnchanged(entry.watched, in: scope, since: entry.mark)
        else {
            memory.forget(key)
            return nil
        }
        return entry.records
    }

    /// - Parameters:
    ///   - lifetime: in milliseconds; 0 keeps nothing.
    ///   - mark: of before the records were asked for.
    func keep(_ records: CustomerRecords, for key: Key, at now: Timestamp, lifetime: Int64, askedAt mark: UInt64) {
        guard let staleAt = Self.staleAt(records, keptAt: now, lifetime: lifetime) else { return memory.forget(key) }
        let size = records.transactions.reduce(1_024) { $0 + 1_024 + $1.text.utf8.count + $1.payload.claims.count }
        let entry = Entry(
            records: records, storedAt: now, staleAt: staleAt, watched: records.watchedIdentifiers, mark: mark)
        memory.keep(entry, for: key, cost: size)
    }

    /// Nil for what must not be kept at all.
    static func staleAt(_ records: CustomerRecords, keptAt now: Timestamp, lifetime: Int64) -> Timestamp? {
        guard lifetime > 0, records.anomalies.isEmpty else { return nil }
        var staleAt = now.milliseconds + lifetime
        for turn in records.turns where turn.milliseconds > now.milliseconds - margin {
            guard turn.milliseconds - margin > now.milliseconds else { return nil }
            staleAt = min(staleAt, turn.milliseconds - margin)
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
