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
            if let known = $0.byId[receipt.id] { return known }
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

/// The two values of a transactionReceipt's property list that matter, found by their keys.
///
/// This is not a parser and shares no code with the decoders, because a mistake in one of them must not hide in the
/// other.
struct TransactionReceiptOutline {
    let signature: String
    let purchaseInfo: String

    /// Returns `nil` if the bytes are not such a list.
    init?(_ bytes: [UInt8]) {
        guard let first = bytes.first(where: { !Self.isSpace($0) }), first == UInt8(ascii: "{"),
            bytes.last(where: { !Self.isSpace($0) }) == UInt8(ascii: "}"),
            let signature = Self.value(of: "signature", in: bytes),
            let purchaseInfo = Self.value(of: "purchase-info", in: bytes)
        else { return nil }
        self.signature = signature
        self.purchaseInfo = purchaseInfo
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func value(of key: String, in bytes: [UInt8]) -> String? {
        guard let name = bytes.firstRange(of: Array("\"\(key)\"".utf8)) else { return nil }
        let rest = bytes[name.upperBound...].drop { isSpace($0) || $0 == UInt8(ascii: "=") }
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        let value = rest.dropFirst()
        guard let end = value.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        return String(decoding: value[..<end], as: UTF8.self)
    }
}
