import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Logging
import ReceiptBridgeStorage
import Synchronization

/// Detects a purchase that is presented by several users. verifyReceipt itself has no users, so this works only if
/// the caller names its user in the header that `userHeader` configures. The first user of each purchase is kept in
/// memory, for at most 200,000 purchases, and in the store, so that all servers of the store know it. While the store
/// cannot be reached, only the memory counts.
///
/// A match is a hint, not a proof: family sharing, two accounts of one person, and a device that was sold cause one
/// too.
final class ReplayDetector: Sendable {
    private struct Purchase: Hashable, Sendable {
        let scope: AppScope
        let originalTransactionId: TransactionIdentifier
    }

    private static let capacity = 200_000
    /// Maximum number of identifiers of one customer that are checked.
    private static let maximumIdentifiers = 1_000

    /// The digest of each user's name, see ``digest(of:)``; names themselves are not stored.
    private let users = GenerationalCache<Purchase, [UInt8]>(limit: capacity)
    private let store: (any Store)?
    private let count = Atomic<Int64>(0)
    /// One log line a minute for each app and environment; all replays are counted.
    private let logThrottle = LogThrottle<[String]>()

    init(store: (any Store)? = nil) { self.store = store }

    func removeAll() { users.removeAll() }

    /// Returns the first 8 bytes of the SHA-256 of a user's name.
    static func digest(of user: Redacted<String>) -> [UInt8] {
        Array(SHA.digest(Array(user.reveal().utf8), with: .sha256).prefix(8))
    }

    /// Returns whether a customer's purchases were first presented by another user.
    ///
    /// - Parameters:
    ///   - identifiers: original transaction ids, and the id of the app transaction.
    ///   - claims: whether identifiers without a user are assigned to this one, if no other user has one of them.
    ///   - limit: timeout of the access to the store, which is asked about purchases that are not in memory.
    func detectReplay(
        _ identifiers: [TransactionIdentifier], in scope: AppScope, of user: [UInt8], claims: Bool,
        at now: Timestamp, logName: String, logger: Logger, within limit: Duration
    ) async -> Bool {
        let purchases = identifiers.prefix(Self.maximumIdentifiers).map {
            Purchase(scope: scope, originalTransactionId: $0)
        }
        var firsts = purchases.map { users[$0] }
        if store != nil, firsts.contains(nil) {
            await loadUsers(of: purchases, claimingFor: claims ? user : nil, at: now, within: limit)
            firsts = purchases.map { users[$0] }
        }
        guard firsts.contains(where: { $0 != nil && $0 != user }) else {
            for (purchase, first) in zip(purchases, firsts) where claims && first == nil {
                users.insert(user, for: purchase, cost: 1)
            }
            return false
        }
        let count = count.add(1, ordering: .relaxed).newValue
        if logThrottle.allows([logName, scope.environment.rawValue], at: now.sinceEpoch) {
            logger.warning(
                "purchase presented with a different account",
                metadata: [
                    "bundleId": "\(scope.bundleId)", "environment": "\(scope.environment.rawValue)",
                    "count": .stringConvertible(count),
                ])
        }
        return true
    }

    /// In the store, purchases without a user are assigned to this one, if no other user has presented one of them.
    private func loadUsers(
        of purchases: [Purchase], claimingFor user: [UInt8]?, at now: Timestamp, within limit: Duration
    ) async {
        guard let store, let scope = purchases.first?.scope else { return }
        let ids = purchases.map(\.originalTransactionId)
        let claim = Task { try? await store.presenters.presenters(of: ids, in: scope, claimingFor: user, at: now) }
        guard let found = await TaskTimeout.value(of: claim, within: limit) ?? nil else { return }
        for (id, first) in found {
            users.insert(first, for: Purchase(scope: scope, originalTransactionId: id), cost: 1)
        }
    }
}
