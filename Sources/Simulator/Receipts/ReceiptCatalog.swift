import Cryptography
import Dispatch
import Synchronization

/// A catalog of the receipts of all customers. Each receipt is signed at the first request; verifyReceipt recognizes
/// it from then on.
final class ReceiptCatalog: Sendable {
    private let world: World
    private let issuer: ReceiptIssuer
    private let registry: ReceiptRegistry
    private let storedReceipts: [String: [UInt8]]
    private let complete = Mutex<[IssuedReceipt]?>(nil)

    /// Creates a catalog with the bytes of receipts that were signed before, by their ids. Those are registered at
    /// once.
    ///
    /// Throws if the keys cannot sign. Later calls rely on this check.
    init(
        world: World, issuer: ReceiptIssuer, registry: ReceiptRegistry, storedReceipts: [String: [UInt8]]
    ) throws(CryptographyError) {
        self.world = world
        self.issuer = issuer
        self.registry = registry
        self.storedReceipts = storedReceipts
        for customer in world.customers where !storedReceipts.isEmpty {
            for plan in customer.receipts {
                if let bytes = storedReceipts[plan.id] { registry.add(issuer.issue(plan, for: customer, bytes: bytes)) }
            }
        }
        for signer in [issuer.pki.receiptSigner, issuer.pki.purchaseSigner] {
            _ = try signer.leaf.key.signature(over: [], digest: .sha256)
        }
    }

    /// All receipts in the order of the customers.
    var all: [IssuedReceipt] {
        complete.withLock { complete in
            if let complete { return complete }
            let receipts = signAll()
            complete = receipts
            return receipts
        }
    }

    /// Signs on all cores. The result is in the order of the customers.
    private func signAll() -> [IssuedReceipt] {
        let customers = world.customers
        let results = Mutex([[IssuedReceipt]](repeating: [], count: customers.count))
        DispatchQueue.concurrentPerform(iterations: customers.count) { index in
            let receipts = receipts(of: customers[index])
            results.withLock { $0[index] = receipts }
        }
        return results.withLock { $0.flatMap { $0 } }
    }

    /// Returns the receipts of one customer, signing those that were not signed yet.
    func receipts(of customer: SimulatedCustomer) -> [IssuedReceipt] {
        customer.receipts.compactMap { plan in
            if let existing = registry.receipt(id: plan.id) { return existing }
            guard let receipt = try? issuer.issue(plan, for: customer) else { return nil }
            return registry.addFirst(receipt)
        }
    }
}
