import Cryptography
import Synchronization

/// Which receipts this App Store has signed.
///
/// A receipt is known by the digest of what was signed and the signature: all bytes of an App Receipt; `signature` and
/// `purchase-info` of a transactionReceipt, whose other lines anybody may change without harm. Kept in memory; a state
/// directory brings it back (``StateDirectory``).
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

    /// The same, unless one of that id is known: then that one, so that two callers get the same bytes.
    func addFirst(_ receipt: IssuedReceipt) -> IssuedReceipt {
        let digest = Self.digest(receipt.bytes)
        return contents.withLock {
            if let known = $0.byId[receipt.id] { return known }
            $0.byDigest[digest] = receipt
            $0.byId[receipt.id] = receipt
            return receipt
        }
    }

    /// The receipt those bytes are, if they are one of ours, unharmed.
    package func receipt(for bytes: [UInt8]) -> IssuedReceipt? {
        let digest = Self.digest(bytes)
        return contents.withLock { $0.byDigest[digest] }
    }

    package func receipt(id: String) -> IssuedReceipt? { contents.withLock { $0.byId[id] } }

    private static func digest(_ bytes: [UInt8]) -> [UInt8] {
        guard let outline = TransactionReceiptOutline(bytes) else { return SHA.digest(bytes, with: .sha256) }
        return SHA.digest(Array("\(outline.signature)\n\(outline.purchaseInfo)".utf8), with: .sha256)
    }
}

/// The two values of an old-style list that matter, found by their keys; not a parser, and not the decoders' one.
struct TransactionReceiptOutline {
    let signature: String
    let purchaseInfo: String

    /// Nil for what is no such list.
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
