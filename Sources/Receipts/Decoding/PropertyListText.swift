import ReceiptBridgeBase

/// A parser for old-style (NeXTSTEP) property lists as iOS 6 receipts contain them: one dictionary of strings.
///
/// ```
/// {
/// 	"key" = "value";
/// 	key = value;
/// }
/// ```
/// - Keys and values are quoted, or words of letters, digits and `_ - . / : $ +`.
/// - In quotes, the escapes `\"`, `\\`, `\n`, `\r`, `\t` and `\ooo` (octal, below 128) stand for one byte.
/// - Whitespace between tokens is ignored. Apple writes one entry a line after a tab; some clients use one line.
/// - The last `;` may be missing. Comments, nested dictionaries, arrays and data do not occur and are rejected.
/// - A repeated key is rejected, because it is ambiguous which of the values is meant.
struct PropertyListText {
    struct Entry {
        let key: String
        /// The value in UTF-8, with escapes replaced.
        let value: [UInt8]
    }

    /// Maximum number of entries; genuine receipts have about 30.
    static let maximumEntries = 256

    private(set) var entries: [Entry] = []

    /// Parses a list.
    ///
    /// - Parameter place: the name of the list for error messages.
    /// - Throws: ``ReceiptDecodingError`` if the list is malformed, truncated or too long.
    init(_ bytes: borrowing Span<UInt8>, at place: String, limit: Int = maximumEntries) throws(ReceiptDecodingError) {
        var parser = Parser(place: place)
        try parser.expect(UInt8(ascii: "{"), in: bytes)
        while try parser.peek(in: bytes) != UInt8(ascii: "}") {
            let key = try parser.text(in: bytes)
            try parser.expect(UInt8(ascii: "="), in: bytes)
            let value = try parser.token(in: bytes)
            if try parser.peek(in: bytes) != UInt8(ascii: "}") { try parser.expect(UInt8(ascii: ";"), in: bytes) }
            guard entries.count < limit else {
                throw ReceiptDecodingError(.tooMany, at: place, "more than \(limit) entries")
            }
            guard !entries.contains(where: { $0.key == key }) else { throw parser.failure("repeated key") }
            entries.append(Entry(key: key, value: value))
        }
        try parser.expect(UInt8(ascii: "}"), in: bytes)
        parser.skipWhiteSpace(in: bytes)
        guard parser.position == bytes.count else {
            throw ReceiptDecodingError(.trailingBytes, at: place, "data after the end of the list")
        }
    }

    /// Returns the value of a key; `nil` if the key is absent.
    subscript(key: String) -> [UInt8]? { entries.first { $0.key == key }?.value }

    /// A parser of the tokens. It stores only the current position; the bytes are passed to each method.
    private struct Parser {
        let place: String
        var position = 0

        init(place: String) { self.place = place }

        func failure(_ reason: String) -> ReceiptDecodingError {
            ReceiptDecodingError(.malformed, at: place, "\(reason) at byte \(position)")
        }

        /// The error of a list that is cut off before its closing brace.
        func truncated(_ reason: String, in bytes: borrowing Span<UInt8>) -> ReceiptDecodingError {
            ReceiptDecodingError(.truncated, at: place, "\(reason): the data ends at byte \(bytes.count)")
        }

        mutating func skipWhiteSpace(in bytes: borrowing Span<UInt8>) {
            while position < bytes.count, ReceiptRepairer.isWhiteSpace(bytes[position]) { position += 1 }
        }

        /// Returns the next byte that is not whitespace, without consuming it.
        mutating func peek(in bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) -> UInt8 {
            skipWhiteSpace(in: bytes)
            guard position < bytes.count else { throw truncated("missing closing brace", in: bytes) }
            return bytes[position]
        }

        /// Consumes `byte`, after optional whitespace.
        mutating func expect(_ byte: UInt8, in bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) {
            guard try peek(in: bytes) == byte else { throw failure("expected \(Character(UnicodeScalar(byte)))") }
            position += 1
        }

        /// Reads a key as text.
        mutating func text(in bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) -> String {
            let token = try token(in: bytes)
            guard let text = token.span.text(0..<token.count) else { throw failure("text that is not valid UTF-8") }
            return text
        }

        mutating func token(in bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) -> [UInt8] {
            try peek(in: bytes) == UInt8(ascii: "\"") ? quoted(in: bytes) : word(in: bytes)
        }

        private mutating func word(in bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) -> [UInt8] {
            let start = position
            while position < bytes.count, Self.isWordByte(bytes[position]) { position += 1 }
            guard position > start else { throw failure("expected a string") }
            return bytes.copy(start..<position)
        }

        /// Returns whether a byte may be part of a value without quotes.
        private static func isWordByte(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "$"), UInt8(ascii: "+"):
                true
            default: false
            }
        }

        /// Reads a value in quotes. The part before the first escape is copied at once, because most values have no
        /// escape.
        private mutating func quoted(in bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) -> [UInt8] {
            position += 1
            let start = position
            while position < bytes.count, bytes[position] != UInt8(ascii: "\""), bytes[position] != UInt8(ascii: "\\") {
                position += 1
            }
            guard position < bytes.count else { throw truncated("missing closing quote", in: bytes) }
            var value = bytes.copy(start..<position)
            while bytes[position] != UInt8(ascii: "\"") {
                if bytes[position] == UInt8(ascii: "\\") {
                    position += 1
                    value.append(try escaped(in: bytes))
                } else {
                    value.append(bytes[position])
                    position += 1
                }
                guard position < bytes.count else { throw truncated("missing closing quote", in: bytes) }
            }
            position += 1
            return value
        }

        /// Reads an escape after its backslash. Returns the byte that it stands for.
        private mutating func escaped(in bytes: borrowing Span<UInt8>) throws(ReceiptDecodingError) -> UInt8 {
            guard position < bytes.count else { throw truncated("missing closing quote", in: bytes) }
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): return byte
            case UInt8(ascii: "n"): return 0x0A
            case UInt8(ascii: "r"): return 0x0D
            case UInt8(ascii: "t"): return 0x09
            case UInt8(ascii: "0"), UInt8(ascii: "1"):
                guard position + 1 < bytes.count else { throw truncated("incomplete octal escape", in: bytes) }
                guard case let high = bytes[position] &- 0x30, high < 8,
                    case let low = bytes[position + 1] &- 0x30, low < 8
                else { throw failure("invalid octal escape") }
                position += 2
                return (byte - 0x30) * 64 + high * 8 + low
            default: throw failure("unknown escape")
            }
        }
    }
}
