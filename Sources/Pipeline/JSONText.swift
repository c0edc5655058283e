/// The small pieces of JSON text: scalars and escapes.
enum JSONText {
    /// `true`, `false`, `null` or a number by the grammar of RFC 8259, section 6.
    static func isScalar(_ range: Range<Int>, in bytes: borrowing Span<UInt8>) -> Bool {
        guard !range.isEmpty else { return false }
        for word in ["true", "false", "null"] where equal(range, word, in: bytes) { return true }
        var position = range.lowerBound
        func digits() -> Int {
            let start = position
            while position < range.upperBound, bytes[position] &- 0x30 < 10 { position += 1 }
            return position - start
        }
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let first = position
        let whole = digits()
        guard whole > 0, whole == 1 || bytes[first] != UInt8(ascii: "0") else { return false }
        if position < range.upperBound, bytes[position] == UInt8(ascii: ".") {
            position += 1
            guard digits() > 0 else { return false }
        }
        if position < range.upperBound, bytes[position] == UInt8(ascii: "e") || bytes[position] == UInt8(ascii: "E") {
            position += 1
            if position < range.upperBound, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-")
            {
                position += 1
            }
            guard digits() > 0 else { return false }
        }
        return position == range.upperBound
    }

    static func equal(_ range: Range<Int>, _ text: StaticString, in bytes: borrowing Span<UInt8>) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count where bytes[range.lowerBound + offset] != text.utf8Start[offset] { return false }
        return true
    }

    static func equal(_ range: Range<Int>, _ text: String, in bytes: borrowing Span<UInt8>) -> Bool {
        guard range.count == text.utf8.count else { return false }
        var position = range.lowerBound
        for byte in text.utf8 {
            guard bytes[position] == byte else { return false }
            position += 1
        }
        return true
    }

    /// Four hexadecimal digits.
    static func codeUnit(at start: Int, in bytes: borrowing Span<UInt8>) -> UInt16? {
        guard start + 4 <= bytes.count else { return nil }
        var value: UInt16 = 0
        for position in start..<start + 4 {
            let digit: UInt8
            switch bytes[position] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = bytes[position] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = bytes[position] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = bytes[position] - UInt8(ascii: "A") + 10
            default: return nil
            }
            value = value << 4 | UInt16(digit)
        }
        return value
    }

    /// The text of a string whose escapes were already found well-formed; a lone surrogate becomes U+FFFD.
    static func unescaped(_ range: Range<Int>, in bytes: borrowing Span<UInt8>) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(range.count)
        var position = range.lowerBound
        while position < range.upperBound {
            guard bytes[position] == UInt8(ascii: "\\"), position + 1 < range.upperBound else {
                plain.append(bytes[position])
                position += 1
                continue
            }
            let letter = bytes[position + 1]
            guard letter == UInt8(ascii: "u") else {
                plain.append(simpleEscape(letter))
                position += 2
                continue
            }
            var units = [codeUnit(at: position + 2, in: bytes) ?? 0xFFFD]
            position += 6
            if units[0] & 0xFC00 == 0xD800, position + 6 <= range.upperBound, bytes[position] == UInt8(ascii: "\\"),
                bytes[position + 1] == UInt8(ascii: "u"), let low = codeUnit(at: position + 2, in: bytes),
                low & 0xFC00 == 0xDC00
            {
                units.append(low)
                position += 6
            }
            plain.append(contentsOf: String(decoding: units, as: UTF16.self).utf8)
        }
        return plain
    }

    private static func simpleEscape(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: letter
        }
    }
}
