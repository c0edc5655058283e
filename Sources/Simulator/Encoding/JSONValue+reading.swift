/// The error of reading bytes that are not JSON.
package struct JSONReadingError: Error, Sendable, Hashable {
    /// Offset of the first byte that is not valid.
    package let offset: Int
}

extension JSONValue {
    /// Reads a complete document. Nesting beyond 64 levels is an error. Numbers that are not 64-bit integers become
    /// strings.
    package init(reading bytes: [UInt8]) throws(JSONReadingError) {
        var reader = JSONReader(bytes: bytes)
        self = try reader.value(depth: 0)
        reader.skipSpaces()
        guard reader.position == bytes.count else { throw reader.failure }
    }
}

private struct JSONReader {
    let bytes: [UInt8]
    var position = 0

    var failure: JSONReadingError { JSONReadingError(offset: position) }
    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func skipSpaces() {
        while let byte = next, byte == 0x20 || (0x09...0x0A).contains(byte) || byte == 0x0D { position += 1 }
    }

    /// Advances past the text if the input continues with it, and returns whether it does.
    mutating func consume(_ text: StaticString) -> Bool {
        let expected = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[position...].starts(with: expected) else { return false }
        position += expected.count
        return true
    }

    mutating func value(depth: Int) throws(JSONReadingError) -> JSONValue {
        skipSpaces()
        guard depth < 64 else { throw failure }
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try text())
        case let byte? where "-0123456789".utf8.contains(byte): return number()
        default: break
        }
        if consume("true") { return .bool(true) }
        if consume("false") { return .bool(false) }
        if consume("null") { return .null }
        throw failure
    }

    private mutating func object(depth: Int) throws(JSONReadingError) -> JSONValue {
        position += 1
        skipSpaces()
        var members: [JSONValue.Member] = []
        if consume("}") { return .object(members) }
        while true {
            skipSpaces()
            guard next == UInt8(ascii: "\"") else { throw failure }
            let key = try text()
            skipSpaces()
            guard consume(":") else { throw failure }
            members.append(.init(key, try value(depth: depth + 1)))
            skipSpaces()
            if consume("}") { return .object(members) }
            guard consume(",") else { throw failure }
        }
    }

    private mutating func array(depth: Int) throws(JSONReadingError) -> JSONValue {
        position += 1
        skipSpaces()
        var elements: [JSONValue] = []
        if consume("]") { return .array(elements) }
        while true {
            elements.append(try value(depth: depth + 1))
            skipSpaces()
            if consume("]") { return .array(elements) }
            guard consume(",") else { throw failure }
        }
    }

    private mutating func number() -> JSONValue {
        let start = position
        while let byte = next, "+-.0123456789eE".utf8.contains(byte) { position += 1 }
        let digits = String(decoding: bytes[start..<position], as: UTF8.self)
        return Int64(digits).map(JSONValue.number) ?? .string(digits)
    }

    /// Reads a string from its opening quote on.
    private mutating func text() throws(JSONReadingError) -> String {
        position += 1
        // Most texts have no escape, and are read as they are.
        let start = position
        while position < bytes.count, bytes[position] != 0x5C, bytes[position] >= 0x20 {
            if bytes[position] == 0x22 {
                position += 1
                return String(decoding: bytes[start..<position - 1], as: UTF8.self)
            }
            position += 1
        }
        var units = Array(bytes[start..<position])
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: units, as: UTF8.self)
            case UInt8(ascii: "\\"): units += try escape()
            case 0..<0x20: throw failure
            default: units.append(byte)
            }
        }
        throw failure
    }

    /// Reads an escape sequence after its backslash. A surrogate without its counterpart becomes U+FFFD.
    private mutating func escape() throws(JSONReadingError) -> [UInt8] {
        guard let byte = next else { throw failure }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): break
        default: throw failure
        }
        let unit = try fourDigits()
        guard (0xD800..<0xDC00).contains(unit), consume("\\u") else { return utf8(UInt32(unit)) }
        let low = try fourDigits()
        guard (0xDC00..<0xE000).contains(low) else { return utf8(0xFFFD) + utf8(UInt32(low)) }
        return utf8(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
    }

    private mutating func fourDigits() throws(JSONReadingError) -> UInt16 {
        guard position + 4 <= bytes.count, bytes[position] != UInt8(ascii: "+"),
            let unit = UInt16(String(decoding: bytes[position..<position + 4], as: UTF8.self), radix: 16)
        else { throw failure }
        position += 4
        return unit
    }

    private func utf8(_ scalar: UInt32) -> [UInt8] {
        Array(String(Unicode.Scalar(scalar).map(Character.init) ?? "\u{FFFD}").utf8)
    }
}
