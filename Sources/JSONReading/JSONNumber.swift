/// Numbers whose place is known and whose grammar was checked.
enum JSONNumber {
    /// 8.64 · 10¹⁵: 271,821 years around 1970, beyond which no calendar reaches.
    private static let farthestMilliseconds: Int64 = 8_640_000_000_000_000

    /// A whole number that fits; a fraction must be zero.
    static func integer(_ range: Range<Int>, in bytes: Span<UInt8>) -> Int64? {
        digits(range, in: bytes) ?? number(range, in: bytes).flatMap { Int64(exactly: $0) }
    }

    /// A number cut down to whole milliseconds.
    static func milliseconds(_ range: Range<Int>, in bytes: Span<UInt8>) -> Int64? {
        let value = digits(range, in: bytes) ?? number(range, in: bytes).flatMap { Int64(exactly: $0.rounded(.down)) }
        guard let value, (-farthestMilliseconds...farthestMilliseconds).contains(value) else { return nil }
        return value
    }

    /// The number where it is nothing but digits; nil otherwise, and where it does not fit.
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

    /// A number with a fraction or an exponent. Nothing but digits is left to `digits`: a `Double` would round it.
    private static func number(_ range: Range<Int>, in bytes: Span<UInt8>) -> Double? {
        guard range.count <= 64 else { return nil }
        let text = bytes.extracting(range).withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) }
        guard let text, text.utf8.contains(where: { "eE.".utf8.contains($0) }), let value = Double(text),
            value.isFinite
        else { return nil }
        return value
    }
}
