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
