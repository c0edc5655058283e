import Cryptography
import Ledger
import Logging
import StoreTypes
import Synchronization

/// Who presented a purchase first. verifyReceipt itself knows no user: only where the caller names one, in the header
/// that `userHeader` names, can the same purchase of another user be seen. In memory, and bounded: 200,000 purchases.
///
/// A family, two accounts of one person, or a device that was sold are reasons, too: it is a hint, no proof.
final class ReplayDetector: Sendable {
    private struct Purchase: Hashable, Sendable {
        let scope: AppScope
        let originalTransactionId: TransactionIdentifier
    }

    private static let capacity = 200_000
    /// Of one receipt, that are looked at.
    private static let maximumPurchases = 100

    /// By eight bytes of SHA-256: no names are kept.
    private let users = GenerationalCache<Purchase, [UInt8]>(limit: capacity)
    private let count = Atomic<Int64>(0)
    private let lines = LogThrottle<[String]>()

    func removeAll() { users.removeAll() }

    /// Whether one of the receipt's purchases was another user's before; what is nobody's yet is this one's from now on.
    ///
    /// - Parameter logName: of the app, see ``AppRegistry/logName(of:)``.
    func sees(
        _ keys: CustomerIdentifiers, in scope: AppScope, of user: Redacted<String>, at now: Timestamp, logName: String,
        logger: Logger
    ) -> Bool {
        let name = Array(SHA.digest(Array(user.reveal().utf8), with: .sha256).prefix(8))
        var isReplay = false
        for id in keys.originalTransactionIds.prefix(Self.maximumPurchases) {
            let purchase = Purchase(scope: scope, originalTransactionId: id)
            if let first = users[purchase] {
                isReplay = isReplay || first != name
            } else if !isReplay {
                users.insert(name, for: purchase, cost: 1)
            }
        }
        guard isReplay else { return false }
        let count = count.add(1, ordering: .relaxed).newValue
        if lines.allows([logName, scope.environment.rawValue], at: now) {
            logger.warning(
                "a purchase was presented by another user than before",
                metadata: [
                    "bundleId": "\(scope.bundleId)", "environment": "\(scope.environment.rawValue)",
                    "count": "\(count)",
                ])
        }
        return true
    }
}
