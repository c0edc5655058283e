package import JSONReading

/// Reads the two members of a verifyReceipt answer that decide what to do with it, and nothing else.
///
///     { …, "status": 21002, "is_retryable": true, … }
///
/// The whole body has to be one JSON object; members of nested objects do not count; of duplicates the last one counts,
/// as with Apple's own parser. `is-retryable` is the same member by its older name.
package struct VerifyReceiptStatusReader: Sendable {
    /// An integer of up to nine digits; nil when absent or anything else, a text too: clients read a number.
    package private(set) var status: Int?
    /// From `true`, `1`, `"true"`, `"1"` and their opposites; nil when absent or anything else.
    package private(set) var isRetryable: Bool?

    /// Throws when the body is not exactly one JSON object, with blanks around it or without.
    package static func scan(_ body: [UInt8]) throws(JSONStructureError) -> VerifyReceiptStatusReader {
        let bytes = body.span
        var result = VerifyReceiptStatusReader()
        var scanner = JSONScanner()
        try scanner.scanDocument(bytes) { member in
            if member.name.matches("status", in: bytes) {
                result.status = number(member.value, bytes)
            } else if member.name.matches("is_retryable", in: bytes) || member.name.matches("is-retryable", in: bytes) {
                result.isRetryable = flag(member.value, bytes)
            }
        }
        return result
    }

    private static func number(_ value: JSONScanner.Value, _ bytes: Span<UInt8>) -> Int? {
        guard case .scalar = value, let text = shortText(value, bytes), (1...9).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int(text)
    }

    private static func flag(_ value: JSONScanner.Value, _ bytes: Span<UInt8>) -> Bool? {
        switch shortText(value, bytes) {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }

    /// The text of a string, or a number or word as it stands; nil for what is too long to be ours, however spelled.
    private static func shortText(_ value: JSONScanner.Value, _ bytes: Span<UInt8>) -> String? {
        guard value.whole.count <= 64 else { return nil }
        switch value {
        case .string(let string): return string.text(in: bytes)
        case .scalar(let range):
            return bytes.extracting(range).withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) }
        case .container: return nil
        }
    }
}
