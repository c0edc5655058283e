import AppStore
import Purchases
import StoreTypes
import Synchronization

/// What Apple told of revocations, by either way, so that an answer from the receipt alone does not forget them. In
/// memory only, and bounded: an app's are dropped as a whole when they become too many.
final class RevocationMemory: Sendable {
    private struct Key: Hashable {
        let bundleId: BundleIdentifier
        let environment: AppStoreEnvironment
    }

    /// Ids of one app and environment; with their payload about 200 bytes each.
    private static let capacity = 100_000

    private let known = Mutex<[Key: KnownRevocations]>([:])

    func remember(_ records: CustomerRecords, of bundleId: BundleIdentifier) {
        change(bundleId, records.environment) { revocations in
            for transaction in records.transactions { revocations.learn(transaction.payload) }
        }
    }

    func remember(_ rows: [AnsweredPurchase], of bundleId: BundleIdentifier, in environment: AppStoreEnvironment) {
        change(bundleId, environment) { revocations in
            for row in rows {
                revocations.learn(
                    row.revocation, transactionId: row.transactionId, webOrderLineItemId: row.webOrderLineItemId)
            }
        }
    }

    private func change(
        _ bundleId: BundleIdentifier, _ environment: AppStoreEnvironment, _ body: (inout KnownRevocations) -> Void
    ) {
        let key = Key(bundleId: bundleId, environment: environment)
        known.withLock { known in
            // In place: a copy of a hundred thousand entries for each answer would be dear.
            body(&known[key, default: KnownRevocations()])
            if known[key].map({ $0.count > Self.capacity }) == true { known[key] = KnownRevocations() }
        }
    }

    func revocations(of bundleId: BundleIdentifier, in environment: AppStoreEnvironment) -> KnownRevocations {
        known.withLock { $0[Key(bundleId: bundleId, environment: environment)] } ?? KnownRevocations()
    }

    /// Whether one of these purchases is known to be taken back.
    func knows(_ keys: LookupKeys, of bundleId: BundleIdentifier, in environment: AppStoreEnvironment) -> Bool {
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
