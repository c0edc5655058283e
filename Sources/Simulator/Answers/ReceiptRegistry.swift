import Cryptography
import Synchronization

/// A registry of the receipts that this App Store has signed.
///
/// A receipt is found by the digest of the signed bytes and the signature: all bytes of an App Receipt, `signature`
/// and `purchase-info` of a transactionReceipt. The other lines of a transactionReceipt are not signed, so a change
/// in them does no harm. The registry is in memory only; a ``StateDirectory`` restores it after a restart.
package final class ReceiptRegistry: Sendable {
    private struct Contents {
        var byDigest: [[UInt8]: IssuedReceipt] = [:]
        var byId: [String: IssuedReceipt] = [:]
    }

    private let contents = Mutex(Contents())

    package init() {}

    package func add(_ receipt: IssuedReceipt) {
        let digest = Self.digest(receipt.bytes)
        contents.withLock {
            $0.byDigest[digest] = receipt
            $0.byId[receipt.id] = receipt
        }
    }

    /// Adds the receipt if its id is new. Otherwise returns the existing one, so that concurrent callers get the same
    /// bytes.
    func addFirst(_ receipt: IssuedReceipt) -> IssuedReceipt {
        let digest = Self.digest(receipt.bytes)
        return contents.withLock {
            if let existing = $0.byId[receipt.id] { return existing }
            $0.byDigest[digest] = receipt
            $0.byId[receipt.id] = receipt
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
