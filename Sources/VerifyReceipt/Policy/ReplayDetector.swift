import ConcurrencySupport
import Cryptography
import Storage
import Logging
import AppStoreTypes
import Synchronization

/// Detects a purchase that is presented by several users. verifyReceipt itself has no users, so this works only if
/// the caller names its user in the header that `userHeader` configures. The first user of each purchase is stored in
/// memory, for at most 200,000 purchases.
///
/// A match is a hint, not a proof: family sharing, two accounts of one person, and a device that was sold cause one
/// too.
final class ReplayDetector: Sendable {
    private struct Purchase: Hashable, Sendable {
        let scope: AppScope
        let originalTransactionId: TransactionIdentifier
    }

    private static let capacity = 200_000
    /// Maximum number of purchases of one receipt that are checked.
    private static let maximumPurchases = 100

    /// The first 8 bytes of the SHA-256 of each user's name; names themselves are not stored.
    private let users = GenerationalCache<Purchase, [UInt8]>(limit: capacity)
    private let count = Atomic<Int64>(0)
    /// One log line a minute for each app and environment; all replays are counted.
    private let logThrottle = LogThrottle<[String]>()

    /// Forgets all users, for example after customer data was erased.
    func removeAll() { users.removeAll() }

    /// Returns whether one of the receipt's purchases was first presented by another user. If none was, purchases
    /// without a user are assigned to this one.
    ///
    /// - Parameter logName: the name of the app in the log, see ``AppRegistry/logName(of:)``.
    func detectReplay(
        _ keys: CustomerIdentifiers, in scope: AppScope, of user: Redacted<String>, at now: Timestamp, logName: String,
        logger: Logger
    ) -> Bool {
        let name = Array(SHA.digest(Array(user.reveal().utf8), with: .sha256).prefix(8))
        let purchases = keys.originalTransactionIds.prefix(Self.maximumPurchases).map { id in
            let purchase = Purchase(scope: scope, originalTransactionId: id)
            return (purchase, first: users[purchase])
        }
        guard purchases.contains(where: { $0.first != nil && $0.first != name }) else {
            for (purchase, first) in purchases where first == nil { users.insert(name, for: purchase, cost: 1) }
            return false
        }
        let count = count.add(1, ordering: .relaxed).newValue
        if logThrottle.allows([logName, scope.environment.rawValue], at: now.sinceEpoch) {
            logger.warning(
                "purchase presented with a different account",
                metadata: [
                    "bundleId": "\(scope.bundleId)", "environment": "\(scope.environment.rawValue)",
                    "count": "\(count)",
                ])
        }
        return true
    }
}
