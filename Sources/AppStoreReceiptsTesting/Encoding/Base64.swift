import Foundation

/// Base64 in the forms that receipts and JWS use.
package enum Base64 {
    /// Encodes with the standard alphabet and padding, on one line, as Apple does.
    package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// Encodes for JWS (base64url, RFC 4648 §5): `-` and `_`, no padding.
    package static func encodeURLSafe(_ bytes: [UInt8]) -> String {
        var text = Array(encode(bytes).utf8)
        while text.last == 0x3D { text.removeLast() }
        replace(0x2B, by: 0x2D, and: 0x2F, by: 0x5F, in: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Replaces two characters. A loop over an index, because a chain of collections takes ten times as long in debug,
    /// where it was a third of a simulator's work.
    private static func replace(
        _ first: UInt8, by replacement: UInt8, and second: UInt8, by other: UInt8, in text: inout [UInt8]
    ) {
        text.withUnsafeMutableBufferPointer { text in
            var index = 0
            while index < text.count {
                let byte = text[index]
                if byte == first { text[index] = replacement } else if byte == second { text[index] = other }
                index += 1
            }
        }
    }

    /// Decodes base64url. Returns `nil` if the text has padding or characters outside the alphabet.
    package static func decodeURLSafe(_ text: some StringProtocol) -> [UInt8]? {
        var standard = Array(text.utf8)
        guard !standard.contains(0x2B), !standard.contains(0x2F), !standard.contains(0x3D) else { return nil }
        replace(0x2D, by: 0x2B, and: 0x5F, by: 0x2F, in: &standard)
        let padding = String(repeating: "=", count: (4 - standard.count % 4) % 4)
        return decode(String(decoding: standard, as: UTF8.self) + padding)
    }

    /// Decodes the standard alphabet with padding. Returns `nil` for anything else, including whitespace and an
    /// empty text.
    package static func decode(_ text: String) -> [UInt8]? {
        guard !text.isEmpty else { return nil }
        return Data(base64Encoded: text).map { [UInt8]($0) }
    }
}
