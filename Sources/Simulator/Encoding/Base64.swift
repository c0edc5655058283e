import Foundation

/// Base64 in the forms that receipts travel in.
package enum Base64 {
    /// Standard alphabet, padded, one line: Apple's own form.
    package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// As JWS wants it: `-` and `_`, no padding.
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

    /// The reverse; nil for padding and foreign characters.
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

    /// Nil for anything but the standard alphabet with its padding; no white space.
    package static func decode(_ text: String) -> [UInt8]? {
        guard !text.isEmpty else { return nil }
        return Data(base64Encoded: text).map { [UInt8]($0) }
    }
}
