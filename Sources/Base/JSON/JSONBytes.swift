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
