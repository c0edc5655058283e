/// The position of a string in a JSON document that the scanner has already validated.
package struct JSONString: Sendable, Hashable {
    /// The byte range between the quotes.
    package let range: Range<Int>
    /// Whether the string contains escape sequences, so that its bytes differ from its text.
    package let isEscaped: Bool

    init(range: Range<Int>, isEscaped: Bool) {
        self.range = range
        self.isEscaped = isEscaped
    }

    /// The position of a number or a literal, which has no quotes and no escapes.
    package init(range: Range<Int>) { self.init(range: range, isEscaped: false) }

    package func matches(_ text: StaticString, in bytes: Span<UInt8>) -> Bool {
        guard isEscaped else { return bytes.holds(text, at: range) }
        // The longest escape sequence for one byte, `\u00XX`, has six bytes.
        guard range.count <= 6 * text.utf8CodeUnitCount else { return false }
        let unescaped = unescaped(in: bytes)
        return unescaped.span.holds(text, at: unescaped.indices)
    }

    /// Returns the unescaped bytes; an unpaired surrogate becomes U+FFFD.
    package func unescaped(in bytes: Span<UInt8>) -> [UInt8] {
        unescaped(in: bytes, replacingUnpaired: "\u{FFFD}") ?? []
    }

    /// Returns the unescaped text; `nil` if the bytes are not UTF-8 or contain an unpaired surrogate.
    package func text(in bytes: Span<UInt8>) -> String? {
        guard isEscaped else {
            return bytes.extracting(range).withUnsafeBufferPointer { text in
                // Most strings are ASCII, for which this path saves 37 ns a string: the standard library's UTF-8
                // validation is slower than this check.
                text.reduce(0, |) < 0x80
                    ? String(decoding: text, as: UTF8.self) : String(validating: text, as: UTF8.self)
            }
        }
        return unescaped(in: bytes, replacingUnpaired: nil).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// - Parameter replacement: replacement for an unpaired surrogate; if it is `nil`, such a string has no result.
    private func unescaped(in bytes: Span<UInt8>, replacingUnpaired replacement: UnicodeScalar?) -> [UInt8]? {
        let text = bytes.extracting(range)
        guard isEscaped else { return text.withUnsafeBufferPointer { [UInt8]($0) } }
        var plain: [UInt8] = []
        plain.reserveCapacity(text.count)
        var position = 0
        while true {
            let end = text.endOfPlainText(from: position)
            text.extracting(position..<end).withUnsafeBufferPointer { plain.append(contentsOf: $0) }
            guard end + 1 < text.count else { return plain }
            let letter = text[end + 1]
            position = end + 2
            if letter == UInt8(ascii: "u") {
                guard let scalar = text.scalar(at: &position) ?? replacement else { return nil }
                plain.append(contentsOf: scalar.utf8)
            } else {
                plain.append(Self.byte(escapedBy: letter))
            }
        }
    }

    /// Returns the byte that stands for the letter after a backslash, for example a line feed for `n`.
    private static func byte(escapedBy letter: UInt8) -> UInt8 {
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

extension Span<UInt8> {
    /// Decodes the four digits of `\uXXXX`, and the second half of a surrogate pair if one follows; `nil` for an
    /// unpaired surrogate.
    fileprivate func scalar(at position: inout Int) -> UnicodeScalar? {
        guard let first = codeUnit(at: position) else { return nil }
        position += 4
        guard UTF16.isLeadSurrogate(first) else { return UnicodeScalar(first) }
        guard position + 1 < count, self[position] == UInt8(ascii: "\\"), self[position + 1] == UInt8(ascii: "u"),
            let second = codeUnit(at: position + 2), UTF16.isTrailSurrogate(second)
        else { return nil }
        position += 6
        return UnicodeScalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
    }

    private func codeUnit(at start: Int) -> UInt16? {
        guard start + 4 <= count else { return nil }
        var unit: UInt16 = 0
        for position in start..<start + 4 {
            guard let digit = Hexadecimal.value(of: self[position]) else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}

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

/// The part of a JSON string that is written as it is.
@usableFromInline enum PlainText {
    /// Returns the index of the next quote, backslash or control character, none of which a JSON string can contain
    /// unescaped. Returns the number of bytes if there is no such byte.
    ///
    /// It checks 64 bytes at a time, then eight, because a receipt is a string of about a hundred thousand bytes.
    @usableFromInline static func end(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        let bytes = UnsafeRawBufferPointer(text)
        var position = start
        /// Returns a word with the top bit set in each byte that matches. A borrow can also set it in a byte after a
        /// match, so only the first set bit is reliable.
        @inline(__always)
        func matches(at position: Int) -> UInt64 {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            // The exclusive or with 2 swaps 0x22, the quote, and 0x20. So a byte below 0x21 is a quote or a control
            // character.
            let quoteOrControl = (word ^ 0x0202_0202_0202_0202) &- 0x2121_2121_2121_2121
            let backslash = (word ^ 0x5C5C_5C5C_5C5C_5C5C) &- 0x0101_0101_0101_0101
            return (quoteOrControl | backslash) & ~word & 0x8080_8080_8080_8080
        }
        while position + 64 <= bytes.count {
            let first = matches(at: position) | matches(at: position + 8)
            let second = matches(at: position + 16) | matches(at: position + 24)
            let third = matches(at: position + 32) | matches(at: position + 40)
            let fourth = matches(at: position + 48) | matches(at: position + 56)
            if first | second | third | fourth != 0 { break }
            position += 64
        }
        while position + 8 <= bytes.count {
            let found = matches(at: position)
            if found != 0 { return position + found.trailingZeroBitCount / 8 }
            position += 8
        }
        while position < bytes.count, bytes[position] != UInt8(ascii: "\""), bytes[position] != UInt8(ascii: "\\"),
            bytes[position] >= 0x20
        {
            position += 1
        }
        return position
    }
}

extension Span<UInt8> {
    /// See ``PlainText/end(in:from:)``.
    func endOfPlainText(from start: Int) -> Int { withUnsafeBufferPointer { PlainText.end(in: $0, from: start) } }

    package func holds(_ text: StaticString, at range: Range<Int>) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        let expected = text.utf8Start
        for offset in 0..<range.count where self[range.lowerBound + offset] != expected[offset] { return false }
        return true
    }
}
