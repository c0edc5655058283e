/// Parses JSON numbers. The scanner has already found the bytes of the number and checked its grammar.
enum JSONNumber {
    /// Returns a whole number that fits into 64 bits. A fraction is allowed only if it is zero, for example `4990.0`.
    static func integer(_ range: Range<Int>, in bytes: Span<UInt8>) -> Int64? {
        digits(range, in: bytes) ?? number(range, in: bytes).flatMap { Int64(exactly: $0) }
    }

    /// Returns a number of milliseconds, rounded down to a whole number; `nil` out of ``Timestamp/range``.
    static func milliseconds(_ range: Range<Int>, in bytes: Span<UInt8>) -> Int64? {
        let value = digits(range, in: bytes) ?? number(range, in: bytes).flatMap { Int64(exactly: $0.rounded(.down)) }
        guard let value, Timestamp.range.contains(Timestamp(milliseconds: value)) else { return nil }
        return value
    }

    /// Returns the value of a number that consists of digits only, with an optional minus sign; `nil` if the number
    /// has a fraction or an exponent, or does not fit into 64 bits.
    private static func digits(_ range: Range<Int>, in bytes: Span<UInt8>) -> Int64? {
        let isNegative = bytes[range.lowerBound] == UInt8(ascii: "-")
        var value: Int64 = 0
        for position in (range.lowerBound + (isNegative ? 1 : 0))..<range.upperBound {
            let byte = bytes[position]
            guard (0x30...0x39).contains(byte) else { return nil }
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            let digit = Int64(byte - 0x30)
            let (sum, overflowsToo) =
                isNegative ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            guard !overflows, !overflowsToo else { return nil }
            value = sum
        }
        return value
    }

    /// Returns the value of a number with a fraction or an exponent, for example `1.5e3`; `nil` for plain digits.
    /// Those are parsed by `digits` only, because a `Double` would round numbers above 2⁵³. Numbers of more than 64
    /// bytes are not parsed.
    private static func number(_ range: Range<Int>, in bytes: Span<UInt8>) -> Double? {
        guard range.count <= 64 else { return nil }
        let text = bytes.extracting(range).withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) }
        guard let text, text.utf8.contains(where: { "eE.".utf8.contains($0) }), let value = Double(text),
            value.isFinite
        else { return nil }
        return value
    }
}
