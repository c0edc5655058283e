/// The characters of base64 and of its form in URLs.
enum Base64Symbol {
    private static let table: [UInt8] = {
        var table = [UInt8](repeating: 0, count: 256)
        for byte in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8 { table[Int(byte)] = byte }
        table[Int(UInt8(ascii: "-"))] = UInt8(ascii: "+")
        table[Int(UInt8(ascii: "_"))] = UInt8(ascii: "/")
        return table
    }()

    /// Returns the character in the standard alphabet; `nil` for any other byte.
    @inline(__always)
    static func standard(_ byte: UInt8) -> UInt8? {
        let symbol = table[Int(byte)]
        return symbol == 0 ? nil : symbol
    }

    static func isURLSafe(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") }

    /// Returns the place of the first byte that is neither a character of base64, nor whitespace, nor padding at the
    /// end.
    static func firstForeign(in text: ArraySlice<UInt8>) -> Int? {
        let end = text.lastIndex { $0 != UInt8(ascii: "=") && !ReceiptRepairer.isWhiteSpace($0) } ?? text.startIndex
        return text[..<end].firstIndex { standard($0) == nil && !ReceiptRepairer.isWhiteSpace($0) }
            ?? (end < text.endIndex && standard(text[end]) == nil && text[end] != UInt8(ascii: "=")
                && !ReceiptRepairer.isWhiteSpace(text[end]) ? end : nil)
    }
}
