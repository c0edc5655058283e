import Foundation

/// Names and values of `application/x-www-form-urlencoded`, the form in which browsers send HTML forms.
package enum FormText {
    /// Decodes percent encoding, and plus signs as blanks.
    ///
    /// - Returns: the bytes; `nil` if a percent sign is not followed by two hexadecimal digits.
    package static func bytes(_ encoded: ArraySlice<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(encoded.count)
        var rest = encoded
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                let low = rest.popFirst().flatMap(Hexadecimal.value)
            else { return nil }
            decoded.append(high << 4 | low)
        }
        return decoded
    }

    /// Decodes a name or a value; `nil` also if the bytes are not UTF-8.
    package static func text(_ encoded: ArraySlice<UInt8>) -> String? {
        bytes(encoded).flatMap { String(bytes: $0, encoding: .utf8) }
    }
}
