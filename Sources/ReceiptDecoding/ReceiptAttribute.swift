import Cryptography
import AppStoreTypes

/// One attribute of an App Receipt.
///
/// ```
/// ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }
/// ```
/// Source: Apple, "Validating receipts on the device". The value contains a DER-encoded text or number, or raw bytes.
/// An empty value and an empty text count as absent.
struct ReceiptAttribute {
    /// The attribute number, for example 1702.
    let type: Int64
    /// The OCTET STRING with the value.
    let value: BERElement

    init(_ element: BERElement, in bytes: borrowing Span<UInt8>) throws(BERError) {
        guard element.tag == BERTag.sequence else { throw BERError(.unexpectedTag, at: element.start) }
        var fields = element.inside
        type = try fields.next(BERTag.integer, in: bytes).integer(in: bytes)
        _ = try fields.next(BERTag.integer, in: bytes)
        value = try fields.next(BERTag.octetString, in: bytes)
    }

    /// Returns the value as a number; `nil` if it is empty.
    func number(in bytes: borrowing Span<UInt8>) throws(BERError) -> Int64? {
        guard !value.content.isEmpty else { return nil }
        var inner = value.inside
        return try inner.next(BERTag.integer, in: bytes).integer(in: bytes)
    }

    /// Returns the value as a text; `nil` if it is empty.
    func text(in bytes: borrowing Span<UInt8>) throws(BERError) -> String? {
        guard let range = try textRange(in: bytes) else { return nil }
        guard let text = bytes.text(range) else { throw BERError(.unexpectedTag, at: range.lowerBound) }
        return text
    }

    /// Returns the value as a date; `nil` if it is empty.
    func date(in bytes: borrowing Span<UInt8>) throws(BERError) -> Timestamp? {
        guard let range = try textRange(in: bytes) else { return nil }
        guard let date = DateText.timestamp(of: range, in: bytes) else {
            throw BERError(.unexpectedTag, at: range.lowerBound)
        }
        return date
    }

    /// Returns the bytes of the value; `nil` if it is empty.
    func raw(in bytes: borrowing Span<UInt8>) -> [UInt8]? {
        value.content.isEmpty ? nil : bytes.copy(value.content)
    }

    /// Returns the range of the characters of a UTF8String or IA5String; `nil` if it is empty.
    func textRange(in bytes: borrowing Span<UInt8>) throws(BERError) -> Range<Int>? {
        guard !value.content.isEmpty else { return nil }
        var inner = value.inside
        let element = try inner.next(in: bytes)
        guard element.tag == BERTag.utf8String || element.tag == BERTag.ia5String else {
            throw BERError(.unexpectedTag, at: element.start)
        }
        return element.content.isEmpty ? nil : element.content
    }

    /// Returns whether the value is a text without characters, which Apple writes if an attribute has no value.
    func isEmptyText(in bytes: borrowing Span<UInt8>) -> Bool {
        value.content.isEmpty
            || value.content.count == 2 && bytes[value.contentStart + 1] == 0
                && (bytes[value.contentStart] == BERTag.utf8String || bytes[value.contentStart] == BERTag.ia5String)
    }
}
