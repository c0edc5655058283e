import Foundation

/// Base64 in the forms that receipts and JWS use.
package enum Base64 {
    /// Encodes with the standard alphabet and padding, on one line, as Apple does.
    package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// Encodes for JWS (base64url, RFC 4648 §5): `-` and `_`, no padding.
    package static func encodeURLSafe(_ bytes: [UInt8]) -> String {
        let text = encode(bytes).utf8.lazy.filter { $0 != UInt8(ascii: "=") }.map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return String(decoding: Array(text), as: UTF8.self)
    }

    /// Decodes base64url. Returns `nil` if the text has padding or characters outside the alphabet.
    package static func decodeURLSafe(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=") })
        else { return nil }
        let standard = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
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
