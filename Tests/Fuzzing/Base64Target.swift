import ReceiptBridgeAppStore
@testable import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore

/// Fuzzes the decoding of a receipt's text, with every profile and as in a migration.
enum Base64Target {
    private static let strict = ReceiptDecoder(trust: FuzzTrust.seeds, profile: .apple)
    private static let lenient = ReceiptDecoder(trust: FuzzTrust.seeds, profile: .tolerant)
    /// Reads receipts as `migrate` does.
    private static let reader = ReceiptReader(trust: FuzzTrust.seeds, now: { Rendered.now })

    static func run(_ text: [UInt8]) {
        if let input = try? ReceiptInput(text.span, profile: .apple), input.kind != .unknown {
            let repaired = try? ReceiptInput(text.span, profile: .tolerant)
            require(repaired?.kind == input.kind, "the tolerant profile accepts what the apple profile accepts")
            require(repaired?.bytes == input.bytes, "both profiles decode to the same bytes")
        }
        if let repaired = ReceiptDecoder.repaired(text.span) {
            require(
                ReceiptDecoder.repaired(repaired.span) == repaired, "a repaired text is not changed by another repair")
            let input = try? ReceiptInput(repaired.span, profile: .apple)
            require(
                input.map { Base64Text.encode($0.bytes) } == repaired,
                "a repaired text is in the form that Apple writes")
        }
        if let bytes = Base64Text.decode(text.span, .receipt) {
            if let other = Base64Text.decode(text.span, .standard) {
                require(other == bytes, "both base64 decoders give the same bytes")
            }
        } else {
            require(Base64Text.decode(text.span, .standard) == nil, "the stricter base64 decoder accepts nothing more")
        }
        let (one, other) = (strict.inspect(text.span), lenient.inspect(text.span))
        require(
            !one.isVerified || other.isVerified,
            "a receipt that the apple profile verifies is also verified by the tolerant profile")
        _ = strict.claims(of: text.span)
        let stored = reader.read(text)
        require(stored.isVerified || !other.isVerified, "a stored receipt is found where a submitted one is repaired")
        if let bytes = stored.bytes?.reveal(), stored.kind != .jws, stored.isVerified {
            require(
                strict.inspect(Base64Text.encode(bytes).span).isVerified, "a receipt that was found is one by itself")
        }
        if let inflated = CompressedText.inflate(text) {
            require(inflated.count <= 64 * text.count + 258, "the size of decompressed data is limited")
        }
    }
}
