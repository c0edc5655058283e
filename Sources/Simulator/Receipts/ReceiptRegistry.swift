import ReceiptBridgeCryptography
import Dispatch
import Synchronization

/// A registry of the receipts that this App Store has signed.
///
/// A receipt is found by the digest of the signed bytes and the signature: all bytes of an App Receipt, `signature`
/// and `purchase-info` of a transactionReceipt. The other lines of a transactionReceipt are not signed, so a change
/// in them does no harm. The registry is in memory only; a ``StateDirectory`` restores it after a restart.
///
/// Each receipt of the world is signed at the first request.
package final class ReceiptRegistry: Sendable {
    private struct Contents {
        var byDigest: [[UInt8]: IssuedReceipt] = [:]
        var byId: [String: IssuedReceipt] = [:]

        mutating func add(_ receipt: IssuedReceipt, _ digest: [UInt8]) {
            byDigest[digest] = receipt
            byId[receipt.id] = receipt
        }
    }

    private let contents = Mutex(Contents())
    private let world: World
    private let issuer: ReceiptIssuer

    /// Throws if the keys cannot sign. Later calls rely on this check.
    init(world: World, issuer: ReceiptIssuer, storedReceipts: [String: [UInt8]]) throws(CryptographyError) {
        self.world = world
        self.issuer = issuer
        for customer in world.customers where !storedReceipts.isEmpty {
            for plan in customer.receipts {
                if let bytes = storedReceipts[plan.id] { add(issuer.issue(plan, for: customer, bytes: bytes)) }
            }
        }
        for signer in [issuer.pki.receiptSigner, issuer.pki.purchaseSigner] {
            _ = try signer.leaf.key.signature(over: [], digest: .sha256)
        }
    }

    /// All receipts of the world, in the order of its customers. They are signed on all cores.
    var all: [IssuedReceipt] {
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
            if let existing = receipt(id: plan.id) { return existing }
            return (try? issuer.issue(plan, for: customer)).map(addFirst)
        }
    }

    package func add(_ receipt: IssuedReceipt) {
        let digest = Self.digest(receipt.bytes)
        contents.withLock { $0.add(receipt, digest) }
    }

    /// Returns the existing receipt with this id, if there is one, so that concurrent callers get the same bytes.
    private func addFirst(_ receipt: IssuedReceipt) -> IssuedReceipt {
        let digest = Self.digest(receipt.bytes)
        return contents.withLock {
            if let existing = $0.byId[receipt.id] { return existing }
            $0.add(receipt, digest)
            return receipt
        }
    }

    /// Returns the receipt with these bytes, or `nil` if this App Store did not sign them or if they were changed.
    package func receipt(for bytes: [UInt8]) -> IssuedReceipt? {
        let digest = Self.digest(bytes)
        return contents.withLock { $0.byDigest[digest] }
    }

    package func receipt(id: String) -> IssuedReceipt? { contents.withLock { $0.byId[id] } }

    /// Returns the SHA-256 digest of the parts that matter.
    private static func digest(_ bytes: [UInt8]) -> [UInt8] {
        guard let outline = TransactionReceiptOutline(bytes) else { return SHA.digest(bytes, with: .sha256) }
        return SHA.digest(Array("\(outline.signature)\n\(outline.purchaseInfo)".utf8), with: .sha256)
    }
}
