import Foundation

/// Base64 in the forms that receipts travel in.
package enum Base64 {
    /// Standard alphabet, padded, one line: Apple's own form.
    package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// As JWS wants it: `-` and `_`, no padding.
    package static func encodeURLSafe(_ bytes: [UInt8]) -> String {
        encode(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Nil for anything but the standard alphabet with its padding; no white space.
    package static func decode(_ text: String) -> [UInt8]? {
        guard !text.isEmpty else { return nil }
        return Data(base64Encoded: text).map { [UInt8]($0) }
    }
}
