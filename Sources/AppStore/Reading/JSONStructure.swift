/// Where bytes stop being JSON.
package struct JSONStructureError: Error, Hashable, CustomStringConvertible {
    /// The place.
    package let offset: Int
    /// What should have stood there.
    package let expected: String

    /// `byte 12: expected a colon`.
    package var description: String { "byte \(offset): expected \(expected)" }
}

/// Walks over JSON (RFC 8259) without building anything: each method checks one piece of the grammar and moves behind it.
///
/// Works in a single pass, with no recursion and no memory that grows; more than 64 levels are refused. Whether the
/// bytes of a string are UTF-8 is not checked.
struct JSONStructure {
    /// Apple's answers have four levels.
    static let maximumDepth = 64

    private(set) var position: Int

    /// Begins at this byte.
    init(at position: Int = 0) {
        self.position = position
    }

    func fails(expecting expected: String) -> JSONStructureError {
        JSONStructureError(offset: position, expected: expected)
    }

    func peek(_ bytes: Span<UInt8>) -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    mutating func skipBlanks(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    /// True when the byte was there.
    mutating func take(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard peek(bytes) == byte else { return false }
        position += 1
        return true
    }

    /// `"name" :` and the blanks around them; returns where the name's text is.
    mutating func takeName(_ bytes: Span<UInt8>) throws(JSONStructureError) -> Range<Int> {
        skipBlanks(bytes)
        let name = try takeString(bytes)
        skipBlanks(bytes)
        guard take(UInt8(ascii: ":"), bytes) else { throw fails(expecting: "a colon") }
        skipBlanks(bytes)
        return name
    }

    /// Returns where the text between the quotes is.
    mutating func takeString(_ bytes: Span<UInt8>) throws(JSONStructureError) -> Range<Int> {
        guard take(UInt8(ascii: "\""), bytes) else { throw fails(expecting: "a string") }
        let start = position
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return start..<(position - 1)
            }
            guard byte >= 0x20 else { throw fails(expecting: "no control character in a string") }
            position += 1
            if byte == UInt8(ascii: "\\") { try takeEscape(bytes) }
        }
        throw fails(expecting: "the end of a string")
    }

    private mutating func takeEscape(_ bytes: Span<UInt8>) throws(JSONStructureError) {
        switch peek(bytes) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            position += 1
            for _ in 0..<4 {
                guard let byte = peek(bytes), hexDigit(byte) != nil else { throw fails(expecting: "a hex digit") }
                position += 1
            }
        default: throw fails(expecting: "an escape")
        }
    }

    /// A string, number or word; returns where it is.
    mutating func takeScalar(_ bytes: Span<UInt8>) throws(JSONStructureError) -> Range<Int> {
        let start = position
        switch peek(bytes) {
        case UInt8(ascii: "\""): _ = try takeString(bytes)
        case UInt8(ascii: "t"): try takeWord("true", bytes)
        case UInt8(ascii: "f"): try takeWord("false", bytes)
        case UInt8(ascii: "n"): try takeWord("null", bytes)
        default: try takeNumber(bytes)
        }
        return start..<position
    }

    private mutating func takeWord(_ word: StaticString, _ bytes: Span<UInt8>) throws(JSONStructureError) {
        for offset in 0..<word.utf8CodeUnitCount {
            guard take(word.utf8Start[offset], bytes) else { throw fails(expecting: "a value") }
        }
    }

    /// `-? (0 | [1-9] digits) (. digits)? ([eE] [+-]? digits)?`
    private mutating func takeNumber(_ bytes: Span<UInt8>) throws(JSONStructureError) {
        let isNegative = take(UInt8(ascii: "-"), bytes)
        if !take(UInt8(ascii: "0"), bytes) {
            guard takeDigits(bytes) else { throw fails(expecting: isNegative ? "a digit" : "a value") }
        }
        if take(UInt8(ascii: "."), bytes) {
            guard takeDigits(bytes) else { throw fails(expecting: "a digit") }
        }
        if take(UInt8(ascii: "e"), bytes) || take(UInt8(ascii: "E"), bytes) {
            _ = take(UInt8(ascii: "+"), bytes) || take(UInt8(ascii: "-"), bytes)
            guard takeDigits(bytes) else { throw fails(expecting: "a digit") }
        }
    }

    private mutating func takeDigits(_ bytes: Span<UInt8>) -> Bool {
        let start = position
        while let byte = peek(bytes), (0x30...0x39).contains(byte) { position += 1 }
        return position > start
    }

    /// Any value, however nested, from its first byte to its last.
    mutating func skipValue(_ bytes: Span<UInt8>) throws(JSONStructureError) {
        var open = OpenContainers()
        repeat {
            skipBlanks(bytes)
            if take(UInt8(ascii: "{"), bytes) {
                guard open.push(isObject: true) else { throw fails(expecting: "less nesting") }
                skipBlanks(bytes)
                if peek(bytes) != UInt8(ascii: "}") {
                    _ = try takeName(bytes)
                    continue
                }
            } else if take(UInt8(ascii: "["), bytes) {
                guard open.push(isObject: false) else { throw fails(expecting: "less nesting") }
                skipBlanks(bytes)
                if peek(bytes) != UInt8(ascii: "]") { continue }
            } else {
                _ = try takeScalar(bytes)
            }
            try closeContainers(&open, bytes)
        } while !open.isEmpty
    }

    /// After a value: closes what ends here, up to the comma before the next value.
    private mutating func closeContainers(
        _ open: inout OpenContainers, _ bytes: Span<UInt8>
    ) throws(JSONStructureError) {
        while !open.isEmpty {
            skipBlanks(bytes)
            if take(open.isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]"), bytes) {
                open.pop()
            } else if take(UInt8(ascii: ","), bytes) {
                if open.isInObject { _ = try takeName(bytes) }
                return
            } else {
                throw fails(expecting: open.isInObject ? "a comma or }" : "a comma or ]")
            }
        }
    }
}

/// The containers around a value, innermost last: one bit each.
private struct OpenContainers {
    private var kinds: UInt64 = 0
    private var depth = 0

    var isEmpty: Bool { depth == 0 }
    var isInObject: Bool { kinds & 1 == 1 }

    /// False when there are as many as there may be; the top-level object is one more.
    mutating func push(isObject: Bool) -> Bool {
        guard depth < JSONStructure.maximumDepth - 1 else { return false }
        kinds = kinds << 1 | (isObject ? 1 : 0)
        depth += 1
        return true
    }

    mutating func pop() {
        kinds >>= 1
        depth -= 1
    }
}

/// The value of a hex digit's byte.
func hexDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case 0x30...0x39: UInt32(byte - 0x30)
    case 0x41...0x46: UInt32(byte - 0x41 + 10)
    case 0x61...0x66: UInt32(byte - 0x61 + 10)
    default: nil
    }
}
