import Base
import ReceiptDecoding
import Responses
package import Storage

/// Identifiers of purchases whose revocations are looked up.
struct PurchaseIdentifiers: Sendable {
    let transactionIds: [String]
    /// Web order line item ids, which identify restored purchases too.
    var lineItems: [String] = []
}

extension ReceiptContents {
    /// The identifiers of all purchases in the receipt.
    var purchaseIdentifiers: PurchaseIdentifiers {
        switch self {
        case .app(let receipt):
            PurchaseIdentifiers(
                transactionIds: receipt.purchases.compactMap(\.transactionId),
                lineItems: receipt.purchases.compactMap { $0.webOrderLineItemId.flatMap { $0 == 0 ? nil : "\($0)" } })
        case .transaction(let receipt):
            PurchaseIdentifiers(
                transactionIds: [receipt.transactionId].compactMap { $0 },
                lineItems: [receipt["web-order-line-item-id"]].compactMap { $0 })
        }
    }
}

extension RevocationCache {
    /// Returns the revocations to show with some purchases. If the store holds revocations that are not in memory,
    /// those of the purchases are looked up. If the store does not answer, only those in memory are returned.
    ///
    /// - Parameters:
    ///   - purchases: evaluated only for a lookup, which most responses do not need.
    ///   - limit: timeout of the read from the store.
    func revocations(
        of purchases: @autoclosure () -> PurchaseIdentifiers, in scope: AppScope,
        within limit: @autoclosure () -> Duration
    ) async -> RevocationIndex {
        if let store = storeToAsk(about: scope) {
            let purchases = purchases()
            let reading = Task { () -> [RevocationRow] in
                let rows = try? await store.revocations.revocations(
                    of: purchases.transactionIds, lineItems: purchases.lineItems, in: scope)
                return rows ?? []
            }
            if let rows = await TaskTimeout.value(of: reading, within: limit()), !rows.isEmpty {
                add(stored: rows, in: scope)
            }
        }
        return revocations(of: scope.bundleId, in: scope.environment)
    }

    /// Looks up whether some transactions are revoked, because another server stored a change of them, and records the
    /// result. If the store cannot be read, nothing is recorded.
    package func update(_ transactionIds: [String], in scope: AppScope, from store: any RevocationStore)
        async throws(StorageError)
    {
        guard !transactionIds.isEmpty else { return }
        let rows = try await store.revocations(of: transactionIds, lineItems: [], in: scope)
        let revoked = Set(rows.map(\.transactionId))
        remove(transactionIds.filter { !revoked.contains($0) }, in: scope)
        add(stored: rows, in: scope)
    }
}
