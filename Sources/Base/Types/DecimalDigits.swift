/// Converts numbers to decimal digits, several at a time in one 64-bit word, because a response has thousands of
/// digits.
///
/// It is `public` and `@inlinable` because the compiler does not inline `package` functions into other modules
/// (BER.swift).
public enum DecimalDigits {
    /// Returns the two digits of each of four numbers below 100, in 16 bits each, the first in the lowest: two ASCII
    /// characters, the first in the lower byte. For example, `0x3234` for 42.
    @inlinable @inline(__always)
    public static func pairs(_ numbers: UInt64) -> UInt64 {
        // 103 / 1,024 is near enough to a tenth for numbers below 179.
        let tens = (numbers &* 103) >> 10 & 0x000F_000F_000F_000F
        return 0x3030_3030_3030_3030 + (tens | (numbers - tens * 10) << 8)
    }

    /// Returns eight ASCII digits of a number below 100,000,000, with zeros in front, the first in the lowest byte.
    @inlinable @inline(__always)
    public static func eight(_ number: UInt32) -> UInt64 {
        let (high, low) = number.quotientAndRemainder(dividingBy: 10_000)
        let halves = UInt64(high) | UInt64(low) << 32
        // 10,486 / 1,048,576 is near enough to a hundredth for numbers below 10,000.
        let hundreds = (halves &* 10_486) >> 20 & 0x0000_007F_0000_007F
        return pairs(hundreds | (halves - hundreds * 100) << 16)
    }
}

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
