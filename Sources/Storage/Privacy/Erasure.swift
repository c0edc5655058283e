package import ReceiptBridgeBase
package import Foundation

/// The customer to erase.
package enum ErasureSubject: Sendable, Hashable {
    /// The customer with this transaction id or original transaction id.
    case transaction(TransactionIdentifier)
    /// The customers with a record that has this account token (`appAccountToken`).
    case accountToken(UUID)
}

/// Which data of which customer to erase.
package struct ErasureRequest: Sendable {
    package let subject: ErasureSubject
    /// Erases in this app only; `nil` for all apps.
    package let bundleId: BundleIdentifier?
    /// Erases in this environment only; `nil` for both.
    package let environment: AppStoreEnvironment?
    /// Keeps the ids and dates of refunded purchases.
    package let keepsRevocations: Bool

    package init(
        _ subject: ErasureSubject, bundleId: BundleIdentifier? = nil, environment: AppStoreEnvironment? = nil,
        keepsRevocations: Bool = false
    ) {
        (self.subject, self.bundleId) = (subject, bundleId)
        (self.environment, self.keepsRevocations) = (environment, keepsRevocations)
    }
}

/// The rows that were erased, or would be erased by a dry run.
package struct Erasure: Sendable, Hashable {
    /// Number of rows of one kind.
    package struct Kind: Sendable, Hashable {
        package let name: String
        package let count: Int

        package init(name: String, count: Int) {
            self.name = name
            self.count = count
        }
    }

    /// Where the customer was found. An account token can lead to several customers.
    package var scopes: [AppScope] = []
    /// Only kinds with a count above 0.
    package var kinds: [Kind] = []
    /// Number of erased deliveries that were still waiting.
    package var waitingDeliveries = 0
    /// Number of refunded purchases whose id and date are kept.
    package var keptRevocations = 0

    package var isEmpty: Bool { kinds.isEmpty && keptRevocations == 0 }

    package mutating func add(_ count: Int, _ name: String) {
        guard count > 0 else { return }
        if let index = kinds.firstIndex(where: { $0.name == name }) {
            kinds[index] = Kind(name: name, count: kinds[index].count + count)
        } else {
            kinds.append(Kind(name: name, count: count))
        }
    }
}
