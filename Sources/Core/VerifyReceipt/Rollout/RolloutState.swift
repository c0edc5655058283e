package import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeReceipts
package import ReceiptBridgeStorage

/// The state of a rollout as one server knows it, and what follows from it. A value without clock and store.
package struct RolloutState: Sendable, Hashable {
    package let settings: RolloutConfiguration
    /// What the store says; `nil` if it was not read yet.
    package var stored: StoredRollout?
    package var isCurrent = false
    /// Number of responses of the share whose comparison is not in the store yet.
    package var unjudged = 0

    package init(_ settings: RolloutConfiguration) { self.settings = settings }

    /// Number of different customers that must be compared before a rollout can stop, and before it is proven.
    package static let minimumCustomers: Int64 = 20
    /// Maximum number of responses of an unproven rollout whose comparison is not in the store yet. Further responses
    /// come from the app's usual sources, so that few customers see a source that has never been compared.
    static let maximumUnjudged = 100
    /// Maximum number of customers of a rollout in the store: those that were compared last. A share of a percent is
    /// known from as many, and a server has room for their digests in memory.
    package static let maximumCustomers = 10_000

    package var phase: RolloutPhase {
        guard let stored else { return .starting }
        if stored.stoppedAt != nil { return .stopped }
        return isCurrent ? .running : .unknown
    }

    /// The share of customers that are answered by the new source now, 0 to 100.
    package var percent: Double { phase == .running ? settings.percent : 0 }

    /// Whether enough customers were compared to judge the source.
    var isProven: Bool { (stored?.compared ?? 0) >= Self.minimumCustomers }

    /// Whether one more response may be sent before earlier ones are compared.
    package var hasRoom: Bool { isProven || unjudged < Self.maximumUnjudged }

    /// Whether the rollout must stop: too many of enough customers differ.
    package var mustStop: Bool {
        guard let stored, stored.stoppedAt == nil, isProven else { return false }
        return Double(stored.different) * 100 > settings.stopAt * Double(stored.compared)
    }
}

/// The share of an app's customers that a rollout includes.
///
/// A customer has a fixed position from 0 to 100, computed from an original transaction id. The share is all positions
/// below `percent`. So the same customer is always on the same side, and a higher percentage only adds customers.
package enum RolloutShare {
    package static func includes(_ identifier: TransactionIdentifier, percent: Double) -> Bool {
        position(of: identifier) < percent
    }

    /// Returns the position of a customer, at least 0 and less than 100.
    package static func position(of identifier: TransactionIdentifier) -> Double {
        // A Double has 53 bits, so the quotient is below 1.
        Double(UInt64(bitPattern: SHA.short(identifier.rawValue)) >> 11) / 0x1p53 * 100
    }
}

extension ReceiptContents {
    /// The smallest original transaction id; `nil` if the receipt has none. Ids are numbers that grow, so it is that of
    /// the customer's first purchase in the receipt.
    var smallestOriginalTransactionId: TransactionIdentifier? {
        lookupKeys.originalTransactionIds.min {
            ($0.rawValue.utf8.count, $0.rawValue) < ($1.rawValue.utf8.count, $1.rawValue)
        }
    }
}
