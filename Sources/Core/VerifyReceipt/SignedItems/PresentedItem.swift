import ReceiptBridgeBase
import ReceiptBridgeReceipts

/// What the text of `receipt-data` claims to be, by its form alone. Nothing is verified here.
enum PresentedItem: Sendable {
    case receipt
    /// A JWS: as it is, as base64 of it, or in a JSON object with the member `signedTransaction`.
    case signedTransaction(Redacted<String>)
    /// A transaction id, which proves nothing.
    case identifier

    /// Maximum size of a JWS in bytes. Apple's have 5 KB.
    private static let maximumSize = 1 << 17

    init(_ text: borrowing Span<UInt8>) {
        guard !text.isEmpty else {
            self = .receipt
            return
        }
        if text.count <= Self.maximumSize, let signed = Self.signedText(in: text) {
            self = .signedTransaction(Redacted(String(decoding: signed, as: UTF8.self)))
        } else if text.count <= Self.maximumIdentifierSize, Self.isIdentifier(text) {
            self = .identifier
        } else {
            self = .receipt
        }
    }

    private static let maximumIdentifierSize = 20

    private static func isIdentifier(_ text: borrowing Span<UInt8>) -> Bool {
        TransactionIdentifier(rawValue: String(decoding: bytes(of: text), as: UTF8.self)) != nil
    }

    /// Returns base64 of a JWS, which the endpoint accepts; `nil` if it is larger than that.
    static func text(of signed: String) -> Redacted<[UInt8]>? {
        let text = Base64Text.encode(Array(signed.utf8))
        return text.count <= maximumSize ? Redacted(text) : nil
    }

    /// Without white space around it. The first byte excludes almost every receipt.
    private static func signedText(in text: borrowing Span<UInt8>) -> [UInt8]? {
        var start = 0
        while start < text.count, text[start] <= 0x20 { start += 1 }
        guard start < text.count, "e{ZCDI".utf8.contains(text[start]) else { return nil }
        let plain = trimmed(bytes(of: text))
        let signed: [UInt8]? =
            switch plain[0] {
            case UInt8(ascii: "e"): plain
            case UInt8(ascii: "{"):
                ((try? JSONObject(plain).text("signedTransaction")) ?? nil).map { Array($0.utf8) }
            // Base64 of a JWS, or of white space before it.
            default: Base64Text.decode(plain.span, .receipt)
            }
        return signed.map(trimmed).flatMap { ReceiptDecoder.isCompactJWS($0) ? $0 : nil }
    }

    private static func bytes(of text: borrowing Span<UInt8>) -> [UInt8] {
        text.withUnsafeBufferPointer { Array($0) }
    }

    private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        let end = bytes.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? 0
        return Array(bytes[..<end].drop { $0 <= 0x20 })
    }
}
