import ReceiptBridgeBase
import Foundation

/// Base64 in the forms that receipts and JWS use.
package enum Base64 {
    /// Encodes with the standard alphabet and padding, on one line, as Apple does.
    package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// Encodes for JWS: `-` and `_`, no padding.
    package static func encodeURLSafe(_ bytes: [UInt8]) -> String {
        String(decoding: Base64Text.encodeURLSafe(bytes), as: UTF8.self)
    }

    package static func decodeURLSafe(_ text: some StringProtocol) -> [UInt8]? {
        Base64Text.decode(Array(text.utf8).span, .urlSafe)
    }

    /// Decodes the standard alphabet with padding. Returns `nil` for anything else, including whitespace and an
    /// empty text.
    package static func decode(_ text: String) -> [UInt8]? {
        guard !text.isEmpty else { return nil }
        return Data(base64Encoded: text).map { [UInt8]($0) }
    }
}
