extension UInt8 {
    @inlinable package var isASCIIAlphanumeric: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}

/// Hexadecimal digits (RFC 4648, section 8). They are written in lower case and read in either case.
package enum Hexadecimal {
    private static let lowerCase = Array("0123456789abcdef".utf8)
    private static let upperCase = Array("0123456789ABCDEF".utf8)

    package static func digits(of bytes: some Collection<UInt8>) -> [UInt8] {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * bytes.count)
        for byte in bytes { append(byte, to: &digits) }
        return digits
    }

    package static func text(of bytes: some Collection<UInt8>) -> String {
        String(decoding: digits(of: bytes), as: UTF8.self)
    }

    package static func append(_ byte: UInt8, to digits: inout [UInt8], uppercase: Bool = false) {
        let alphabet = uppercase ? upperCase : lowerCase
        digits.append(alphabet[Int(byte >> 4)])
        digits.append(alphabet[Int(byte & 15)])
    }

    /// Returns the value of a digit, 0 to 15; `nil` if the byte is not a digit.
    @inlinable
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}
