import AppStoreTypes
import ConcurrencySupport
import ReceiptDecoding
import Responses
import Storage

/// Identifiers of purchases whose revocations are looked up. Those of a receipt are read when they are needed, because
/// most responses need no lookup.
struct PurchaseIdentifiers: Sendable {
    private enum Source: Sendable {
        case identifiers(transactionIds: [String], lineItems: [String])
        case receipt(ReceiptContents)
    }

    private let source: Source

    init(transactionIds: [String], lineItems: [String] = []) {
        source = .identifiers(transactionIds: transactionIds, lineItems: lineItems)
    }

    init(of receipt: ReceiptContents) { source = .receipt(receipt) }

    var transactionIds: [String] {
        switch source {
        case .identifiers(let transactionIds, _): transactionIds
        case .receipt(.app(let receipt)): receipt.purchases.compactMap(\.transactionId)
        case .receipt(.transaction(let receipt)): [receipt.transactionId].compactMap { $0 }
        }
    }

    /// Web order line item ids, which identify restored purchases too.
    var lineItems: [String] {
        switch source {
        case .identifiers(_, let lineItems): lineItems
        case .receipt(.app(let receipt)):
            receipt.purchases.compactMap { $0.webOrderLineItemId.flatMap { $0 == 0 ? nil : "\($0)" } }
        case .receipt(.transaction(let receipt)): [receipt["web-order-line-item-id"]].compactMap { $0 }
        }
    }
}

extension ReceiptContents {
    /// The identifiers of all purchases in the receipt.
    var purchaseIdentifiers: PurchaseIdentifiers { PurchaseIdentifiers(of: self) }
}

extension RevocationCache {
    /// Returns the revocations to show with some purchases. If the store holds revocations that are not in memory,
    /// those of the purchases are looked up. If the store does not answer, only those in memory are returned.
    ///
    /// - Parameter limit: timeout of the read from the store.
    func revocations(
        of purchases: PurchaseIdentifiers, in scope: AppScope, within limit: Duration
    ) async -> RevocationIndex {
        if let store = storeToAsk(about: scope) {
            let reading = Task { () -> [RevocationRow] in
                let rows = try? await store.revocations.revocations(
                    of: purchases.transactionIds, lineItems: purchases.lineItems, in: scope)
                return rows ?? []
            }
            if let rows = await TaskTimeout.value(of: reading, within: limit), !rows.isEmpty {
                add(stored: rows, in: scope)
            }
        }
        return revocations(of: scope.bundleId, in: scope.environment)
    }

    /// Looks up whether some transactions are revoked, because another server stored a change of them, and records the
    /// result. If the store cannot be read, nothing is recorded.
    func update(_ transactionIds: [String], in scope: AppScope, from store: any RevocationStore)
        async throws(StorageError)
    {
        guard !transactionIds.isEmpty else { return }
        let rows = try await store.revocations(of: transactionIds, lineItems: [], in: scope)
        let revoked = Set(rows.map(\.transactionId))
        remove(transactionIds.filter { !revoked.contains($0) }, in: scope)
        add(stored: rows, in: scope)
    }
}
