extension Span<UInt8> {
    /// Returns the index of the next quote, backslash or control character, none of which a JSON string can contain
    /// unescaped. Returns the number of bytes if there is no such byte.
    func endOfPlainText(from start: Int) -> Int {
        bytes.withUnsafeBytes { buffer in
            var position = start
            // Checks eight bytes at a time, because a receipt is a string of about a hundred thousand bytes. Each
            // test sets the top bit of every byte that matches. A carry can also set the top bit of a byte after a
            // match, so only the first set bit is reliable, and only the first is used.
            let ones: UInt64 = 0x0101_0101_0101_0101
            while position + 8 <= buffer.count {
                let word = UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                let control = (word &- ones &* 0x20) & ~word
                let quote = word ^ (ones &* 0x22)
                let backslash = word ^ (ones &* 0x5C)
                let found = control | ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
                let tops = found & (ones &* 0x80)
                if tops != 0 { return position + tops.trailingZeroBitCount / 8 }
                position += 8
            }
            while position < buffer.count, buffer[position] != UInt8(ascii: "\""),
                buffer[position] != UInt8(ascii: "\\"),
                buffer[position] >= 0x20
            {
                position += 1
            }
            return position
        }
    }

    /// Returns whether the bytes in `range` equal `text`.
    package func holds(_ text: StaticString, at range: Range<Int>) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        let expected = text.utf8Start
        for offset in 0..<range.count where self[range.lowerBound + offset] != expected[offset] { return false }
        return true
    }
}
