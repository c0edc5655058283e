import Cryptography
import StoreTypes

/// One attribute of a receipt.
///
/// ```
/// ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }
/// ```
/// Apple, "Validating receipts on the device". The value holds the DER of a text or a number, or raw bytes. An empty
/// value, and an empty text, count as absent.
struct ReceiptAttribute {
    let type: Int64
    let value: BERElement

    init(_ element: BERElement, in bytes: borrowing Span<UInt8>) throws(BERError) {
        guard element.tag == BERTag.sequence else { throw BERError(.unexpectedTag, at: element.start) }
        var fields = element.inside
        type = try fields.next(BERTag.integer, in: bytes).integer(in: bytes)
        _ = try fields.next(BERTag.integer, in: bytes)
        value = try fields.next(BERTag.octetString, in: bytes)
    }

    func number(in bytes: borrowing Span<UInt8>) throws(BERError) -> Int64? {
        guard !value.content.isEmpty else { return nil }
        var inner = value.inside
        return try inner.next(BERTag.integer, in: bytes).integer(in: bytes)
    }

    func text(in bytes: borrowing Span<UInt8>) throws(BERError) -> String? {
        guard let range = try textRange(in: bytes) else { return nil }
        guard let text = bytes.text(range) else { throw BERError(.unexpectedTag, at: range.lowerBound) }
        return text
    }

    func date(in bytes: borrowing Span<UInt8>) throws(BERError) -> Timestamp? {
        guard let range = try textRange(in: bytes) else { return nil }
        guard let date = DateText.timestamp(of: range, in: bytes) else {
            throw BERError(.unexpectedTag, at: range.lowerBound)
        }
        return date
    }

    func raw(in bytes: borrowing Span<UInt8>) -> [UInt8]? {
        value.content.isEmpty ? nil : bytes.copy(value.content)
    }

    /// UTF8String or IA5String, whichever stands there.
    func textRange(in bytes: borrowing Span<UInt8>) throws(BERError) -> Range<Int>? {
        guard !value.content.isEmpty else { return nil }
        var inner = value.inside
        let element = try inner.next(in: bytes)
        guard element.tag == BERTag.utf8String || element.tag == BERTag.ia5String else {
            throw BERError(.unexpectedTag, at: element.start)
        }
        return element.content.isEmpty ? nil : element.content
    }

    /// Whether the value is a text without characters: what Apple writes where it has nothing to say.
    func isEmptyText(in bytes: borrowing Span<UInt8>) -> Bool {
        value.content.isEmpty
            || value.content.count == 2 && bytes[value.contentStart + 1] == 0
                && (bytes[value.contentStart] == BERTag.utf8String || bytes[value.contentStart] == BERTag.ia5String)
    }
}
