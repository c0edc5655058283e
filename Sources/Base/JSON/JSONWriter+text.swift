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
        let plain = PlainText.end(in: utf8, from: 0)
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
}
