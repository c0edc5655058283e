import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// One attribute of an App Receipt.
///
/// ```
/// ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }
/// ```
/// Source: Apple, "Validating receipts on the device". The value contains a DER-encoded text or number, or raw bytes.
/// An empty value and an empty text count as absent.
struct ReceiptAttribute {
    let type: Int64
    /// The OCTET STRING with the value.
    let value: BERElement

    /// Reads the next attribute and moves the cursor behind it.
    @inline(__always)
    init(next cursor: inout BERCursor, in bytes: borrowing Span<UInt8>) throws(BERError) {
        // The usual form: a type of one or two bytes, a version of one byte, and lengths below 128.
        //   30 length 02 02 type type 02 01 version 04 size value
        //   30 length 02 01 type      02 01 version 04 size value
        let start = cursor.position
        if cursor.end <= bytes.count, cursor.end - start >= 11 {
            let word = UInt64(littleEndian: bytes.bytes.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self))
            let isShort = word & 0x00FF_FF00_FFFF_00FF == 0x0001_0200_0102_0030
            let header = isShort ? 10 : 11
            let length = Int(word >> 8 & 0xFF)
            let size = Int(bytes[start + header - 1])
            if isShort || word & 0xFFFF_0000_FFFF_00FF == 0x0102_0000_0202_0030,
                bytes[start + header - 2] == BERTag.octetString, length < 0x80, size < 0x80,
                size + header <= length + 2, length + 2 <= cursor.end - start
            {
                type =
                    isShort
                    ? Int64(Int8(truncatingIfNeeded: word >> 32))
                    : Int64(Int16(truncatingIfNeeded: word >> 32).byteSwapped)
                let content = start + header
                value = BERElement(
                    tag: BERTag.octetString, start: content - 2, contentStart: content, contentEnd: content + size,
                    end: content + size)
                cursor.position = start + 2 + length
                return
            }
        }
        self = try Self.read(&cursor, in: bytes)
    }

    private init(type: Int64, value: BERElement) {
        self.type = type
        self.value = value
    }

    /// Reads an attribute in any encoding.
    @inline(never)
    private static func read(
        _ cursor: inout BERCursor, in bytes: borrowing Span<UInt8>
    ) throws(BERError) -> ReceiptAttribute {
        let element = try cursor.next(in: bytes)
        guard element.tag == BERTag.sequence else { throw BERError(.unexpectedTag, at: element.start) }
        var fields = element.inside
        let type = try fields.next(BERTag.integer, in: bytes).integer(in: bytes)
        _ = try fields.next(BERTag.integer, in: bytes)
        return ReceiptAttribute(type: type, value: try fields.next(BERTag.octetString, in: bytes))
    }

    /// Returns the value as a number; `nil` if it is empty.
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

    /// Returns the range of a text of valid UTF-8, plus `base`; no range if it is empty.
    func range(in bytes: borrowing Span<UInt8>, base: Int) throws(BERError) -> ReceiptText {
        guard let range = try textRange(in: bytes) else { return .none }
        guard bytes.isText(range) else { throw BERError(.unexpectedTag, at: range.lowerBound) }
        return ReceiptText(base + range.lowerBound..<base + range.upperBound)
    }

    func date(in bytes: borrowing Span<UInt8>) throws(BERError) -> Timestamp? {
        guard let range = try textRange(in: bytes) else { return nil }
        guard let date = DateText.timestamp(of: range, in: bytes) else {
            throw BERError(.unexpectedTag, at: range.lowerBound)
        }
        return date
    }

    /// Returns the bytes of the value; `nil` if it is empty. `base` is added to the offsets of the attribute.
    func raw(of bytes: Redacted<[UInt8]>, base: Int) -> ReceiptBytes? {
        value.content.isEmpty ? nil : ReceiptBytes(base + value.contentStart..<base + value.contentEnd, of: bytes)
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
