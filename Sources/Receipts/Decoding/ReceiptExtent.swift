import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// What the first bytes of a receipt say about its length.
struct ReceiptExtent {
    /// The number of bytes of the outermost DER element; `nil` for a property list, and for an indefinite length.
    private let byteCount: Int?
    private let kind: ReceiptKind

    /// The number of characters of base64 without padding; `nil` if only the end tells.
    var symbolCount: Int? { byteCount.map { ($0 * 8 + 5) / 6 } }

    /// - Parameter head: the first eight characters of the base64, or more.
    init?(_ head: [UInt8]) {
        guard head.count >= 8, let bytes = Base64Text.decode(Array(head.prefix(8)).span, .receipt) else { return nil }
        kind = ReceiptInput.kind(of: bytes)
        switch kind {
        case .appReceipt:
            let octets = Int(bytes[1] & 0x7F)
            guard octets <= 4 else { return nil }
            byteCount = octets == 0 ? nil : bytes[2..<2 + octets].reduce(0) { $0 << 8 | Int($1) } + 2 + octets
        case .transactionReceipt: byteCount = nil
        case .jws, .unknown:
            guard bytes[0] == UInt8(ascii: "{") else { return nil }
            byteCount = nil
        }
    }

    /// Returns the bytes of these characters if they are exactly one receipt with a readable structure.
    func receipt(_ symbols: [UInt8]) -> [UInt8]? {
        guard symbolCount ?? symbols.count == symbols.count, symbols.count % 4 != 1 else { return nil }
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - symbols.count % 4) % 4)
        guard let bytes = Base64Text.decode((symbols + padding).span, .receipt) else { return nil }
        let found = ReceiptInput.kind(of: bytes)
        guard Self.isWhole(bytes, found) else { return nil }
        switch found {
        case .appReceipt: return (try? SignedData(ber: bytes.span)) == nil ? nil : bytes
        case .transactionReceipt:
            guard let blob = try? TransactionReceiptBlob(bytes.span), case .success = blob.signature else { return nil }
            return bytes
        case .jws, .unknown: return nil
        }
    }

    /// Returns whether bytes are exactly one receipt, by where they end.
    static func isWhole(_ bytes: [UInt8], _ kind: ReceiptKind) -> Bool {
        switch kind {
        case .appReceipt:
            var cursor = BERCursor(0..<bytes.count)
            return (try? cursor.next(in: bytes.span))?.end == bytes.count
        case .transactionReceipt:
            return bytes.last { !ReceiptRepairer.isWhiteSpace($0) } == UInt8(ascii: "}")
                && bytes.allSatisfy { $0 < 0x80 }
        case .jws, .unknown: return false
        }
    }
}
