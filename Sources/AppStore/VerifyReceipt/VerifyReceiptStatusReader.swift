package import ReceiptBridgeBase

/// Reads the members of a verifyReceipt response that decide what to do with it, and nothing else.
///
///     { …, "status": 21002, "is_retryable": true, … }
///     { …, "status": 0, "receipt": { … }, … }
///
/// The whole body has to be one JSON object. Members of nested objects are ignored. If a member is repeated, the last
/// one counts, as in Apple's own parser. `is-retryable` is the older name of the same member.
package struct VerifyReceiptStatusReader: Sendable {
    /// The status, an integer of up to nine digits. `nil` if it is absent or anything else, for example a string,
    /// because clients expect a number.
    package private(set) var status: Int?
    /// The value of `is_retryable`: `true`, `1`, `"true"`, `"1"` or their opposites. `nil` if it is absent or
    /// anything else.
    package private(set) var isRetryable: Bool?
    private(set) var hasReceipt = false

    /// Whether the status says that the receipt was decoded, and the receipt is missing.
    package var lacksReceipt: Bool {
        !hasReceipt && status.map { VerifyReceiptStatus(rawValue: $0).promisesReceipt } ?? false
    }

    /// Scans a body. Throws if it is not exactly one JSON object, apart from whitespace around it.
    package static func scan(_ body: [UInt8]) throws(JSONStructureError) -> VerifyReceiptStatusReader {
        let bytes = body.span
        var result = VerifyReceiptStatusReader()
        var scanner = JSONScanner()
        try scanner.scanDocument(bytes) { member in
            if member.name.matches("status", in: bytes) {
                result.status = integer(member.value, bytes)
            } else if member.name.matches("is_retryable", in: bytes) || member.name.matches("is-retryable", in: bytes) {
                result.isRetryable = flag(member.value, bytes)
            } else if member.name.matches("receipt", in: bytes) {
                result.hasReceipt = bytes[member.value.whole.lowerBound] == UInt8(ascii: "{")
            }
        }
        return result
    }

    /// Returns an unsigned integer of up to nine digits, which always fits into an `Int`.
    private static func integer(_ value: JSONScanner.Value, _ bytes: Span<UInt8>) -> Int? {
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

    /// Returns the text of a string, or a number or literal as written. `nil` if the value is longer than 64 bytes,
    /// because none of the expected values is.
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
