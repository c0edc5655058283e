/// Scans strings, numbers and the literals `true`, `false` and `null`.
extension JSONScanner {
    /// Scans `"name" :` and the whitespace around it.
    mutating func scanName(_ bytes: Span<UInt8>) throws(JSONStructureError) -> JSONString {
        skipWhiteSpace(bytes)
        let name = try scanString(bytes)
        skipWhiteSpace(bytes)
        guard consume(UInt8(ascii: ":"), bytes) else { throw error(expecting: "a colon") }
        skipWhiteSpace(bytes)
        return name
    }

    /// Scans a string, quotes included, and records whether it contains escapes.
    mutating func scanString(_ bytes: Span<UInt8>) throws(JSONStructureError) -> JSONString {
        guard consume(UInt8(ascii: "\""), bytes) else { throw error(expecting: "a string") }
        let start = position
        var isEscaped = false
        while true {
            position = bytes.endOfPlainText(from: position)
            if consume(UInt8(ascii: "\""), bytes) {
                return JSONString(range: start..<position - 1, isEscaped: isEscaped)
            }
            guard consume(UInt8(ascii: "\\"), bytes) else {
                let isCut = position == bytes.count
                throw error(expecting: isCut ? "the end of a string" : "no control character in a string")
            }
            isEscaped = true
            try skipEscape(bytes)
        }
    }

    /// Scans the rest of an escape sequence, after its backslash.
    private mutating func skipEscape(_ bytes: Span<UInt8>) throws(JSONStructureError) {
        switch peek(bytes) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            position += 1
            for _ in 0..<4 {
                guard peek(bytes).flatMap(Hexadecimal.value) != nil else { throw error(expecting: "a hex digit") }
                position += 1
            }
        default: throw error(expecting: "an escape")
        }
    }

    mutating func skipScalar(_ bytes: Span<UInt8>) throws(JSONStructureError) {
        switch peek(bytes) {
        case UInt8(ascii: "t"): try skipLiteral("true", bytes)
        case UInt8(ascii: "f"): try skipLiteral("false", bytes)
        case UInt8(ascii: "n"): try skipLiteral("null", bytes)
        default: try skipNumber(bytes)
        }
    }

    private mutating func skipLiteral(_ literal: StaticString, _ bytes: Span<UInt8>) throws(JSONStructureError) {
        for offset in 0..<literal.utf8CodeUnitCount {
            guard consume(literal.utf8Start[offset], bytes) else { throw error(expecting: "a value") }
        }
    }

    /// Scans a number: `-? (0 | [1-9] digits) (. digits)? ([eE] [+-]? digits)?`
    private mutating func skipNumber(_ bytes: Span<UInt8>) throws(JSONStructureError) {
        let isNegative = consume(UInt8(ascii: "-"), bytes)
        if !consume(UInt8(ascii: "0"), bytes) {
            guard skipDigits(bytes) else { throw error(expecting: isNegative ? "a digit" : "a value") }
        }
        if consume(UInt8(ascii: "."), bytes) {
            guard skipDigits(bytes) else { throw error(expecting: "a digit") }
        }
        if consume(UInt8(ascii: "e"), bytes) || consume(UInt8(ascii: "E"), bytes) {
            _ = consume(UInt8(ascii: "+"), bytes) || consume(UInt8(ascii: "-"), bytes)
            guard skipDigits(bytes) else { throw error(expecting: "a digit") }
        }
    }

    /// Scans digits. Returns `false` if there is not even one.
    private mutating func skipDigits(_ bytes: Span<UInt8>) -> Bool {
        let start = position
        while let byte = peek(bytes), (0x30...0x39).contains(byte) { position += 1 }
        return position > start
    }
}
