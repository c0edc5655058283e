import AppStoreTypes

/// Strings. ``key(_:)`` and ``value(_:)`` use these methods.
extension JSONWriter {
    /// Writes a JSON string with quotes, and with escapes where RFC 8259 requires them.
    @inlinable public mutating func quoted(_ text: String) {
        byte(0x22)
        characters(text)
        byte(0x22)
    }

    /// Writes the contents of a JSON string, without quotes.
    @inlinable public mutating func characters(_ text: String) {
        var text = text
        text.withUTF8 { characters(utf8: $0) }
    }

    /// Writes the contents of a JSON string from UTF-8, without quotes.
    @inlinable public mutating func characters(utf8: UnsafeBufferPointer<UInt8>) {
        let plain = Self.plainPrefix(of: utf8)
        raw(UnsafeBufferPointer(rebasing: utf8[..<plain]))
        for index in plain..<utf8.count { escaped(utf8[index]) }
    }

    /// Writes one byte, escaped if JSON requires it. Bytes of multi-byte UTF-8 characters are never escaped.
    @usableFromInline mutating func escaped(_ byte: UInt8) {
        switch byte {
        case 0x22: ascii(#"\""#)
        case 0x5C: ascii(#"\\"#)
        case 0x08: ascii(#"\b"#)
        case 0x09: ascii(#"\t"#)
        case 0x0A: ascii(#"\n"#)
        case 0x0C: ascii(#"\f"#)
        case 0x0D: ascii(#"\r"#)
        case 0..<0x20:
            ascii(#"\u00"#)
            var digits: [UInt8] = []
            Hexadecimal.append(byte, to: &digits)
            raw(digits)
        default: self.byte(byte)
        }
    }

    /// Returns the number of bytes before the first one that needs an escape. It checks eight bytes at a time,
    /// because `latest_receipt` has about a hundred thousand bytes.
    @inlinable static func plainPrefix(of utf8: UnsafeBufferPointer<UInt8>) -> Int {
        let bytes = UnsafeRawBufferPointer(utf8)
        var index = 0
        while index + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            // Bytes below 0x20, `"` and `\`. Each test sets the top bit of every byte that matches.
            let control = (word &- 0x2020_2020_2020_2020) & ~word
            let quote = word ^ 0x2222_2222_2222_2222
            let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
            let found = control | ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
            if found & 0x8080_8080_8080_8080 != 0 { break }
            index += 8
        }
        while index < bytes.count, bytes[index] >= 0x20, bytes[index] != 0x22, bytes[index] != 0x5C { index += 1 }
        return index
    }

    @inlinable static var ones: UInt64 { 0x0101_0101_0101_0101 }
}
