import Cryptography
import Dispatch
import Synchronization

/// The receipts of a world's customers: each is signed when it is first wanted, and known to verifyReceipt from then on.
final class ReceiptCatalog: Sendable {
    private let world: World
    private let issuer: ReceiptIssuer
    private let registry: ReceiptRegistry
    private let keep: [String: [UInt8]]
    private let complete = Mutex<[IssuedReceipt]?>(nil)

    /// With the bytes of those that were signed before, by their ids; they are known at once.
    ///
    /// Throws where the keys do not sign; later they do.
    init(
        world: World, issuer: ReceiptIssuer, registry: ReceiptRegistry, keep: [String: [UInt8]]
    ) throws(CryptographyError) {
        self.world = world
        self.issuer = issuer
        self.registry = registry
        self.keep = keep
        for customer in world.customers where !keep.isEmpty {
            for plan in customer.receipts {
                if let bytes = keep[plan.id] { registry.add(issuer.issue(plan, for: customer, bytes: bytes)) }
            }
        }
        for signer in [issuer.pki.receiptSigner, issuer.pki.purchaseSigner] {
            _ = try signer.leaf.key.signature(over: [], digest: .sha256)
        }
    }

    var all: [IssuedReceipt] {
        complete.withLock { complete in
            if let complete { return complete }
            let receipts = signAll()
            complete = receipts
            return receipts
        }
    }

    /// On all cores; in the order of the customers.
    private func signAll() -> [IssuedReceipt] {
        let customers = world.customers
        let results = Mutex([[IssuedReceipt]](repeating: [], count: customers.count))
        DispatchQueue.concurrentPerform(iterations: customers.count) { place in
            let receipts = receipts(of: customers[place])
            results.withLock { $0[place] = receipts }
        }
        return results.withLock { $0.flatMap { $0 } }
    }

    func receipts(of customer: SimulatedCustomer) -> [IssuedReceipt] {
        customer.receipts.compactMap { plan in
            if let known = registry.receipt(id: plan.id) { return known }
            guard let receipt = try? issuer.issue(plan, for: customer) else { return nil }
            return registry.addFirst(receipt)
        }
    }
}
