import Foundation

/// A base64 codec that accepts exactly what Apple's endpoint accepts: the standard alphabet, complete padding with
/// `=`, and no other byte. The unused low bits of the last character may be set. (RFC 4648, section 4.)
enum Base64 {
    /// Returns the decoded bytes; `nil` if the text is not base64 of this form. Empty text gives no bytes.
    static func decode(_ text: borrowing Span<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        return text.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress, !buffer.isEmpty else { return [] }
            // Foundation also accepts `AA=A` and `====`, so `=` anywhere but at the end is rejected here.
            let padding = buffer.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
            guard memchr(start, CInt(UInt8(ascii: "=")), buffer.count - padding) == nil else { return nil }
            let input = Data(
                bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: buffer.count, deallocator: .none)
            return Data(base64Encoded: input).map { [UInt8]($0) }
        }
    }

    /// Returns the canonical text: padded, without line breaks.
    static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        [UInt8](Data(bytes).base64EncodedData())
    }

    /// Returns whether `encode` would give the same text for the decoded bytes, which means that the unused low bits
    /// are zero. The text must be valid base64.
    static func isCanonical(_ text: borrowing Span<UInt8>) -> Bool {
        guard text.count >= 4, text[text.count - 1] == UInt8(ascii: "=") else { return true }
        let two = text[text.count - 2] == UInt8(ascii: "=")
        let last = text[text.count - (two ? 3 : 2)]
        return two ? "AQgw".utf8.contains(last) : "AEIMQUYcgkosw048".utf8.contains(last)
    }
}
