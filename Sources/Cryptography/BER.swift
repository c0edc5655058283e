/// A BER encoding error: what is wrong, and the offset of the element concerned.
public struct BERError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: String, Sendable, Hashable {
        /// The element claims more bytes than the enclosing element or buffer has.
        case truncated
        /// The length field has more than eight bytes, or its value exceeds 2,147,483,647 bytes (`Int32.max`).
        case lengthTooLarge
        /// A tag number above 30 (the multi-byte tag form). None occurs in receipts or certificates.
        case unsupportedTag
        /// Indefinite lengths nested deeper than ``BERCursor/maximumDepth``.
        case tooDeep
        /// The element has a different tag than the grammar requires at this position.
        case unexpectedTag
        /// Bytes follow the last field.
        case trailingBytes
        /// An INTEGER that is empty or wider than 64 bits.
        case integerOutOfRange
    }

    public let code: Code
    /// Offset in bytes from the start of the buffer that was read.
    public let offset: Int

    @inlinable @inline(__always)
    public init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }

    public var description: String { "\(code.rawValue) at byte \(offset)" }
}

// The types below are `public` and their methods `@inlinable` because Swift 6.3.1 does not inline `package` functions
// into another module, with or without `@inlinable`: reading a receipt of 187 purchases took 168 µs instead of 84. In
// Base the caches (a lookup took 1.8 µs instead of 0.5), the JSON writer, `CivilTime` and `Redacted` are public for the
// same reason. No product shows them to other packages. Measure before you make them `package`.

/// The tag bytes used by receipts and certificates.
public enum BERTag {
    @inlinable @inline(__always) public static var integer: UInt8 { 0x02 }
    @inlinable @inline(__always) public static var bitString: UInt8 { 0x03 }
    @inlinable @inline(__always) public static var octetString: UInt8 { 0x04 }
    @inlinable @inline(__always) public static var constructedOctetString: UInt8 { 0x24 }
    @inlinable @inline(__always) public static var objectIdentifier: UInt8 { 0x06 }
    @inlinable @inline(__always) public static var utf8String: UInt8 { 0x0C }
    @inlinable @inline(__always) public static var ia5String: UInt8 { 0x16 }
    @inlinable @inline(__always) public static var sequence: UInt8 { 0x30 }
    @inlinable @inline(__always) public static var set: UInt8 { 0x31 }
    /// The constructed, context-specific tag `[number]`. For example, `context(0)` is 0xA0.
    @inlinable public static func context(_ number: UInt8) -> UInt8 { 0xA0 | number }
}

/// One BER element: its tag and the offsets of its parts in the buffer.
public struct BERElement: Sendable, Hashable {
    public let tag: UInt8
    /// Offset of the tag byte.
    public let start: Int
    /// Offset of the first content byte, after tag and length.
    public let contentStart: Int
    /// Offset after the last content byte.
    public let contentEnd: Int
    /// Offset after the whole element. With an indefinite length this is after the end-of-contents marker, otherwise
    /// it equals ``contentEnd``.
    public let end: Int

    @inlinable @inline(__always)
    public init(tag: UInt8, start: Int, contentStart: Int, contentEnd: Int, end: Int) {
        (self.tag, self.start, self.contentStart) = (tag, start, contentStart)
        (self.contentEnd, self.end) = (contentEnd, end)
    }

    @inlinable @inline(__always) public var content: Range<Int> { contentStart..<contentEnd }
    /// The range of the whole element, including its tag and length.
    @inlinable @inline(__always) public var whole: Range<Int> { start..<end }
    @inlinable @inline(__always) public var inside: BERCursor { BERCursor(contentStart..<contentEnd) }
}

/// Reads consecutive BER elements (ITU-T X.690) without copying.
///
/// The only recursion is for indefinite lengths, which Xcode's receipts use. Their nesting is limited to
/// ``maximumDepth``. Every read is bounds-checked against the buffer; malformed input throws ``BERError`` and never
/// traps.
public struct BERCursor: Sendable {
    /// Maximum nesting depth of indefinite lengths.
    @inlinable @inline(__always) public static var maximumDepth: Int { 16 }

    public var position: Int
    public let end: Int

    @inlinable @inline(__always)
    public init(_ range: Range<Int>) {
        self.position = range.lowerBound
        self.end = range.upperBound
    }

    @inlinable @inline(__always) public var isAtEnd: Bool { position >= end }

    @inlinable @inline(__always)
    public mutating func next(in bytes: borrowing Span<UInt8>) throws(BERError) -> BERElement {
        let element = try Self.element(in: bytes, at: position, end: end, depth: 0)
        position = element.end
        return element
    }

    /// Returns the next element, which must have this tag. Otherwise throws `unexpectedTag`.
    @inlinable @inline(__always)
    public mutating func next(_ tag: UInt8, in bytes: borrowing Span<UInt8>) throws(BERError) -> BERElement {
        let element = try next(in: bytes)
        guard element.tag == tag else { throw BERError(.unexpectedTag, at: element.start) }
        return element
    }

    /// Returns the next element if it has this tag. Otherwise returns `nil` and consumes nothing.
    @inlinable
    public mutating func nextIfPresent(_ tag: UInt8, in bytes: borrowing Span<UInt8>) throws(BERError) -> BERElement? {
        guard position < end, bytes[position] == tag else { return nil }
        return try next(in: bytes)
    }

    /// Throws `trailingBytes` unless every byte has been read.
    @inlinable
    public func finish() throws(BERError) {
        guard isAtEnd else { throw BERError(.trailingBytes, at: position) }
    }

    /// Reads the element that starts at an offset, up to the end of the enclosing element. The depth is the number of
    /// enclosing elements with an indefinite length.
    @inlinable @inline(__always)
    public static func element(
        in bytes: borrowing Span<UInt8>, at start: Int, end: Int, depth: Int
    ) throws(BERError) -> BERElement {
        guard end <= bytes.count, start >= 0, end - start >= 2 else { throw BERError(.truncated, at: start) }
        let tag = bytes[start]
        guard tag & 0x1F != 0x1F else { throw BERError(.unsupportedTag, at: start) }
        let first = bytes[start + 1]
        if first < 0x80 {
            let contentStart = start + 2
            guard Int(first) <= end - contentStart else { throw BERError(.truncated, at: start) }
            let contentEnd = contentStart + Int(first)
            return BERElement(
                tag: tag, start: start, contentStart: contentStart, contentEnd: contentEnd, end: contentEnd)
        }
        return try longElement(in: bytes, tag: tag, at: start, end: end, depth: depth)
    }

    @inlinable
    public static func longElement(
        in bytes: borrowing Span<UInt8>, tag: UInt8, at start: Int, end: Int, depth: Int
    ) throws(BERError) -> BERElement {
        let lengthBytes = Int(bytes[start + 1] & 0x7F)
        let contentStart = start + 2 + lengthBytes
        guard lengthBytes > 0 else {
            return try indefiniteElement(in: bytes, tag: tag, at: start, end: end, depth: depth)
        }
        guard lengthBytes <= 8 else { throw BERError(.lengthTooLarge, at: start) }
        guard contentStart <= end else { throw BERError(.truncated, at: start) }
        var length: UInt64 = 0
        for offset in 0..<lengthBytes {
            length = length << 8 | UInt64(bytes[start + 2 + offset])
        }
        guard length <= UInt64(Int32.max) else { throw BERError(.lengthTooLarge, at: start) }
        guard Int(length) <= end - contentStart else { throw BERError(.truncated, at: start) }
        let contentEnd = contentStart + Int(length)
        return BERElement(tag: tag, start: start, contentStart: contentStart, contentEnd: contentEnd, end: contentEnd)
    }

    @usableFromInline
    static func indefiniteElement(
        in bytes: borrowing Span<UInt8>, tag: UInt8, at start: Int, end: Int, depth: Int
    ) throws(BERError) -> BERElement {
        guard tag & 0x20 != 0 else { throw BERError(.unexpectedTag, at: start) }
        guard depth < maximumDepth else { throw BERError(.tooDeep, at: start) }
        var position = start + 2
        while true {
            guard end - position >= 2 else { throw BERError(.truncated, at: start) }
            if bytes[position] == 0, bytes[position + 1] == 0 {
                return BERElement(
                    tag: tag, start: start, contentStart: start + 2, contentEnd: position, end: position + 2)
            }
            position = try element(in: bytes, at: position, end: end, depth: depth + 1).end
        }
    }
}

extension BERElement {
    /// Returns the value of an INTEGER of at most 64 bits in two's complement. For example, the content bytes `FF 7F`
    /// are −129.
    @inlinable @inline(__always)
    public func integer(in bytes: borrowing Span<UInt8>) throws(BERError) -> Int64 {
        let count = contentEnd - contentStart
        guard count >= 1, count <= 8 else { throw BERError(.integerOutOfRange, at: start) }
        var value: Int64 = bytes[contentStart] & 0x80 == 0 ? 0 : -1
        for offset in contentStart..<contentEnd {
            value = value << 8 | Int64(bytes[offset])
        }
        return value
    }

    package func holds(_ expected: [UInt8], in bytes: borrowing Span<UInt8>) -> Bool {
        bytes.holds(expected, at: content)
    }
}
