/// Values of JSON whose place is known and whose grammar was checked.
enum JSONScalar {
    /// 8.64 · 10¹⁵: 271,821 years around 1970, beyond which no calendar reaches.
    private static let farthestMilliseconds: Int64 = 8_640_000_000_000_000

    /// The text of a string; nil for another type, bytes that are not UTF-8, and escapes that name half a character.
    static func text(_ range: Range<Int>, in bytes: Span<UInt8>) -> String? {
        guard bytes[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
        let inside = bytes.extracting((range.lowerBound + 1)..<(range.upperBound - 1))
        var isEscaped = false
        for index in inside.indices where inside[index] == UInt8(ascii: "\\") {
            isEscaped = true
            break
        }
        guard isEscaped else {
            return inside.withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) }
        }
        return unescaped(inside).flatMap { String(validating: $0, as: UTF8.self) }
    }

    private static func unescaped(_ text: Span<UInt8>) -> [UInt8]? {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            let byte = text[position]
            position += 1
            guard byte == UInt8(ascii: "\\") else {
                output.append(byte)
                continue
            }
            let escape = text[position]
            position += 1
            switch escape {
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "r"): output.append(0x0D)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "u"):
                guard let scalar = scalar(text, &position) else { return nil }
                output.append(contentsOf: String(Character(scalar)).utf8)
            default: output.append(escape)
            }
        }
        return output
    }

    /// The four digits at `position`, and the second half of a pair behind them.
    private static func scalar(_ text: Span<UInt8>, _ position: inout Int) -> UnicodeScalar? {
        let first = unit(text, &position)
        guard (0xD800..<0xDC00).contains(first) else { return UnicodeScalar(first) }
        guard position + 6 <= text.count, text[position] == UInt8(ascii: "\\"),
            text[position + 1] == UInt8(ascii: "u")
        else { return nil }
        position += 2
        let second = unit(text, &position)
        guard (0xDC00..<0xE000).contains(second) else { return nil }
        return UnicodeScalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private static func unit(_ text: Span<UInt8>, _ position: inout Int) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            unit = unit << 4 | (hexDigit(text[position]) ?? 0)
            position += 1
        }
        return unit
    }

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
