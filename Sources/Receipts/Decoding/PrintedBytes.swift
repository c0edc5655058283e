import ReceiptBridgeBase

/// Reads bytes that a programming language printed: as hexadecimal digits, or as a list of decimal numbers.
///
///     <Buffer 30 82 17 f4>    30:82:17:f4    {0x30, 0x82}    \x308217f4     hexadecimal
///     [48, 130, 23, 244]    [48 130 23 244]    <<48, 130>>    {"0":48,"1":130}    [48,-126]     decimal
enum PrintedBytes {
    /// Returns the bytes of hexadecimal digits. They may be in brackets after the name of a type, each byte may have a
    /// prefix, and separators are ignored. Returns `nil` if there is anything else.
    static func hexadecimal(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = text
        if let bracket = text.prefix(64).firstIndex(of: UInt8(ascii: "<")) {
            rest = text[(bracket + 1)...].prefix { $0 != UInt8(ascii: ">") }
            let name = rest.prefix { isLetter($0) || isDigit($0) }
            if name.contains(where: { Hexadecimal.value(of: $0) == nil }) { rest = rest[name.endIndex...] }
        }
        var bytes: [UInt8] = []
        var high: UInt8?
        var digits = 0
        for byte in rest + [0x20] {
            if let digit = Hexadecimal.value(of: byte) {
                if let first = high { bytes.append(first << 4 | digit) }
                high = high == nil ? digit : nil
                digits += 1
            } else if byte | 0x20 == UInt8(ascii: "x"), digits == 0 || (digits == 1 && high == 0) {
                (high, digits) = (nil, 0)
            } else if isSeparator(byte) || byte == UInt8(ascii: "\\") {
                // A single digit is a byte, as in `0x5`; three digits are a decimal number.
                if let last = high {
                    guard digits == 1 else { return nil }
                    bytes.append(last)
                }
                (high, digits) = (nil, 0)
            } else {
                return nil
            }
        }
        return bytes
    }

    /// Returns the bytes of a list of numbers from -128 to 255, in brackets or not, also if the closing bracket is
    /// missing. Keys before the numbers are ignored. Returns `nil` if there is anything else.
    static func decimal(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let head = text.prefix(40)
        let bracket =
            head.lastIndex { "[<{".utf8.contains($0) } ?? head.firstIndex(of: UInt8(ascii: "(")) ?? text.startIndex - 1
        var bytes: [UInt8] = []
        var (number, digits, isNegative) = (0, 0, false)
        var rest = text[(bracket + 1)...]
        while !rest.isEmpty || digits > 0 {
            let byte = rest.popFirst() ?? 0x20
            if isDigit(byte), digits < 3 {
                (number, digits) = (number * 10 + Int(byte - 0x30), digits + 1)
            } else if byte == UInt8(ascii: "-"), digits == 0 {
                isNegative = true
            } else if isSeparator(byte), digits > 0 || !isNegative {
                guard digits > 0 else { continue }
                guard number <= (isNegative ? 128 : 255) else { return nil }
                bytes.append(UInt8(truncatingIfNeeded: isNegative ? -number : number))
                (number, digits, isNegative) = (0, 0, false)
            } else if byte == UInt8(ascii: "\""), digits == 0, let key = rest.prefix(8).firstIndex(of: byte) {
                rest = rest[(key + 1)...]
            } else {
                return nil
            }
        }
        return bytes
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        ReceiptRepairer.isWhiteSpace(byte) || ",:;[](){}<>".utf8.contains(byte)
    }

    /// Passes the parts between single or double quotes to `body`, as in `b'…'`, `X'…'`, `Optional("…")` and
    /// `{'receipt': '…'}`: without the quotes, and whether an `x` or `X` is before them, as before the hexadecimal
    /// digits in SQL. An escaped quote does not end a part, and the end of the text does.
    static func quotedParts(of text: [UInt8], _ body: (ArraySlice<UInt8>, Bool) -> Void) {
        var opening: Int?
        func pass(_ start: Int, _ end: Int) {
            body(text[(start + 1)..<end], start > 0 && text[start - 1] | 0x20 == UInt8(ascii: "x"))
        }
        var position = 0
        while position < text.count {
            let byte = text[position]
            if let start = opening {
                if byte == text[start] {
                    pass(start, position)
                    opening = nil
                }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                opening = position
            }
            position += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        if let start = opening { pass(start, text.count) }
    }

    // MARK: - Prints without the bytes

    /// The beginnings of prints that have the type of an object instead of its bytes.
    private static let references = [
        "[B@", "[object ", "System.Byte[]", "<memory at ", "java.nio.", "#<StringIO", "<_io.",
    ].map { Array($0.utf8) }

    /// Returns whether the text is the printed name or size of an object, without any of its bytes.
    static func isReference(_ text: [UInt8]) -> Bool {
        guard text.count <= 128 else { return false }
        let value = text.starts(with: "Optional(".utf8) ? Array(text.dropFirst(9).dropLast()) : text
        return ReceiptRepairer.countOfBytes(value) != nil || references.contains { text.starts(with: $0) }
    }

    /// Returns the text before the first `...` or `…`, which a print has instead of the other bytes; `nil` without one.
    static func beforeEllipsis(_ text: [UInt8]) -> ArraySlice<UInt8>? {
        let end = text.indices.first { index in
            switch text[index] {
            case UInt8(ascii: "."): text[index...].starts(with: "...".utf8)
            case 0xE2: text[index...].starts(with: "…".utf8)
            default: false
            }
        }
        return end.map { text[..<$0] }
    }
}
