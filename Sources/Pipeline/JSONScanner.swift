/// Walks one JSON document (RFC 8259) without building anything: where the members of the top-level object lie.
///
/// Everything is checked, nested values too, so that what passes here is JSON for every other reader as well. Nesting
/// is bounded; the work is linear.
struct JSONScanner {
    static let maximumDepth = 64

    enum Failure: Error {
        case notJSON(offset: Int)
    }

    enum Value: Sendable, Hashable {
        /// Between the quotes; `hasEscapes` says whether it must be unescaped before use.
        case string(Range<Int>, hasEscapes: Bool)
        /// A number, `true`, `false` or `null`, as it stands.
        case scalar(Range<Int>)
        /// An object or an array.
        case container(Range<Int>)

        /// Where the value stands, quotes included.
        var whole: Range<Int> {
            switch self {
            case .string(let range, _): range.lowerBound - 1..<range.upperBound + 1
            case .scalar(let range), .container(let range): range
            }
        }
    }

    struct Member: Sendable, Hashable {
        /// Between the quotes.
        var key: Range<Int>
        var keyHasEscapes: Bool
        var value: Value
    }

    private(set) var position: Int

    /// The members of the object that the document is, in order, repetitions included.
    static func members(of bytes: borrowing Span<UInt8>, from start: Int) throws(Failure) -> [Member] {
        var scanner = JSONScanner(position: start)
        var members: [Member] = []
        try scanner.expect(UInt8(ascii: "{"), in: bytes)
        if scanner.take(UInt8(ascii: "}"), in: bytes) {
            try scanner.finish(in: bytes)
            return members
        }
        repeat {
            let (key, keyHasEscapes) = try scanner.key(in: bytes)
            let value = try scanner.value(in: bytes)
            members.append(Member(key: key, keyHasEscapes: keyHasEscapes, value: value))
        } while scanner.take(UInt8(ascii: ","), in: bytes)
        try scanner.expect(UInt8(ascii: "}"), in: bytes)
        try scanner.finish(in: bytes)
        return members
    }

    // MARK: - Tokens

    private mutating func skipWhiteSpace(in bytes: borrowing Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private func failure() -> Failure { .notJSON(offset: position) }

    private mutating func finish(in bytes: borrowing Span<UInt8>) throws(Failure) {
        skipWhiteSpace(in: bytes)
        guard position == bytes.count else { throw failure() }
    }

    private mutating func expect(_ byte: UInt8, in bytes: borrowing Span<UInt8>) throws(Failure) {
        guard take(byte, in: bytes) else { throw failure() }
    }

    private mutating func take(_ byte: UInt8, in bytes: borrowing Span<UInt8>) -> Bool {
        skipWhiteSpace(in: bytes)
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func key(in bytes: borrowing Span<UInt8>) throws(Failure) -> (Range<Int>, Bool) {
        try expect(UInt8(ascii: "\""), in: bytes)
        let key = try string(in: bytes)
        try expect(UInt8(ascii: ":"), in: bytes)
        return key
    }

    /// Behind the opening quote.
    private mutating func string(in bytes: borrowing Span<UInt8>) throws(Failure) -> (Range<Int>, Bool) {
        let start = position
        var hasEscapes = false
        while true {
            position = bytes.nextStringByte(from: position)
            guard position < bytes.count else { throw failure() }
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return (start..<position - 1, hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                try skipEscape(in: bytes)
            default:
                throw failure()
            }
        }
    }

    private mutating func skipEscape(in bytes: borrowing Span<UInt8>) throws(Failure) {
        guard position + 1 < bytes.count else { throw failure() }
        switch bytes[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        case UInt8(ascii: "u"):
            guard position + 5 < bytes.count, JSONText.codeUnit(at: position + 2, in: bytes) != nil else {
                throw failure()
            }
            position += 6
        default:
            throw failure()
        }
    }

    // MARK: - Values

    private mutating func value(in bytes: borrowing Span<UInt8>) throws(Failure) -> Value {
        skipWhiteSpace(in: bytes)
        guard position < bytes.count else { throw failure() }
        switch bytes[position] {
        case UInt8(ascii: "\""):
            position += 1
            let (range, hasEscapes) = try string(in: bytes)
            return .string(range, hasEscapes: hasEscapes)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            return .container(try container(in: bytes))
        default:
            return .scalar(try scalar(in: bytes))
        }
    }

    private mutating func scalar(in bytes: borrowing Span<UInt8>) throws(Failure) -> Range<Int> {
        let start = position
        while position < bytes.count, Self.isScalarByte(bytes[position]) { position += 1 }
        guard JSONText.isScalar(start..<position, in: bytes) else { throw failure() }
        return start..<position
    }

    private static func isScalarByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    /// An object or array, walked with a stack of its own instead of recursion.
    private mutating func container(in bytes: borrowing Span<UInt8>) throws(Failure) -> Range<Int> {
        let start = position
        var closers: [UInt8] = []
        repeat {
            // Here a value begins, or the container just opened ends.
            skipWhiteSpace(in: bytes)
            guard position < bytes.count else { throw failure() }
            if let closer = Self.closer(of: bytes[position]) {
                guard closers.count < Self.maximumDepth else { throw failure() }
                position += 1
                closers.append(closer)
                if take(closer, in: bytes) {
                    closers.removeLast()
                } else {
                    if closer == UInt8(ascii: "}") { _ = try key(in: bytes) }
                    continue
                }
            } else if bytes[position] == UInt8(ascii: "\"") {
                position += 1
                _ = try string(in: bytes)
            } else {
                _ = try scalar(in: bytes)
            }
            // Here a value ended: close what closes, or go on to the next.
            while let closer = closers.last {
                if take(UInt8(ascii: ","), in: bytes) {
                    if closer == UInt8(ascii: "}") { _ = try key(in: bytes) }
                    break
                }
                try expect(closer, in: bytes)
                closers.removeLast()
            }
        } while !closers.isEmpty
        return start..<position
    }

    private static func closer(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "{"): UInt8(ascii: "}")
        case UInt8(ascii: "["): UInt8(ascii: "]")
        default: nil
        }
    }
}

extension Span<UInt8> {
    /// The next quote, backslash or control byte: what a JSON string cannot simply contain.
    fileprivate func nextStringByte(from start: Int) -> Int {
        bytes.withUnsafeBytes { buffer in
            var position = start
            // Eight at a time: receipts are strings of a hundred thousand bytes. Each test sets the top bit of a byte
            // that it holds for (and, behind such a byte, perhaps of others: the loop below finds the first).
            let ones: UInt64 = 0x0101_0101_0101_0101
            while position + 8 <= buffer.count {
                let word = buffer.loadUnaligned(fromByteOffset: position, as: UInt64.self)
                let control = (word &- ones &* 0x20) & ~word
                let quote = word ^ (ones &* 0x22)
                let backslash = word ^ (ones &* 0x5C)
                let found = control | ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
                if found & (ones &* 0x80) != 0 { break }
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
}
