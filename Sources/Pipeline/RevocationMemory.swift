import AppStore
import Purchases
import StoreTypes
import Synchronization

/// What the Server API told of revocations, so that an answer from the receipt alone does not forget them. In memory
/// only, and bounded: an app's are dropped as a whole when they become too many.
final class RevocationMemory: Sendable {
    private struct Key: Hashable {
        let bundleId: BundleIdentifier
        let environment: AppStoreEnvironment
    }

    /// Ids of one app and environment; with their payload about 200 bytes each.
    private static let capacity = 100_000

    private let known = Mutex<[Key: KnownRevocations]>([:])

    func remember(_ records: CustomerRecords, of bundleId: BundleIdentifier) {
        let key = Key(bundleId: bundleId, environment: records.environment)
        known.withLock { known in
            var revocations = known[key] ?? KnownRevocations()
            for transaction in records.transactions { revocations.learn(transaction.payload) }
            known[key] = revocations.count > Self.capacity ? KnownRevocations() : revocations
        }
    }

    func revocations(of bundleId: BundleIdentifier, in environment: AppStoreEnvironment) -> KnownRevocations {
        known.withLock { $0[Key(bundleId: bundleId, environment: environment)] } ?? KnownRevocations()
    }
}
