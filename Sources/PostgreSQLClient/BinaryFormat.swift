/// PostgreSQL's binary format of the types in ``PostgreSQLValue``: integers are big-endian.
enum BinaryFormat {
    /// The object ids of the types, from `pg_type`.
    enum TypeID {
        static let boolean: UInt32 = 16
        static let bytes: UInt32 = 17
        static let integer: UInt32 = 20
        static let text: UInt32 = 25
        static let byteStrings: UInt32 = 1001
        static let texts: UInt32 = 1009
        static let integers: UInt32 = 1016
    }

    /// The type of a parameter; 0 lets the server infer it.
    static func type(of value: PostgreSQLValue) -> UInt32 {
        switch value {
        case .null: 0
        case .boolean: TypeID.boolean
        case .integer: TypeID.integer
        case .text: TypeID.text
        case .bytes: TypeID.bytes
        case .integers: TypeID.integers
        case .texts: TypeID.texts
        case .byteStrings: TypeID.byteStrings
        }
    }

    /// Appends a value, which is not null.
    ///
    /// - Throws: `invalid` for a text that contains U+0000.
    static func append(_ value: PostgreSQLValue, to bytes: inout [UInt8]) throws(PostgreSQLError) {
        switch value {
        case .null: break
        case .boolean(let boolean): bytes.append(boolean ? 1 : 0)
        case .integer(let integer): append(integer, to: &bytes)
        case .text(let text): try append(text, to: &bytes)
        case .bytes(let own): bytes += own
        case .integers(let elements):
            appendHeader(of: elements.count, TypeID.integer, to: &bytes)
            for element in elements {
                append(Int32(8), to: &bytes)
                append(element, to: &bytes)
            }
        case .texts(let elements):
            appendHeader(of: elements.count, TypeID.text, to: &bytes)
            for element in elements {
                append(Int32(truncatingIfNeeded: element.utf8.count), to: &bytes)
                try append(element, to: &bytes)
            }
        case .byteStrings(let elements):
            appendHeader(of: elements.count, TypeID.bytes, to: &bytes)
            for element in elements {
                append(Int32(truncatingIfNeeded: element.count), to: &bytes)
                bytes += element
            }
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) throws(PostgreSQLError) {
        guard !text.utf8.contains(0) else {
            throw PostgreSQLError(.invalid, "a text contains U+0000, which PostgreSQL cannot store")
        }
        bytes += text.utf8
    }

    static func append<Integer: FixedWidthInteger>(_ integer: Integer, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: integer.bigEndian) { bytes += $0 }
    }

    /// Appends the header of an array with one dimension and no nulls.
    private static func appendHeader(of count: Int, _ element: UInt32, to bytes: inout [UInt8]) {
        append(Int32(count == 0 ? 0 : 1), to: &bytes)
        append(Int32(0), to: &bytes)
        append(element, to: &bytes)
        guard count > 0 else { return }
        append(Int32(truncatingIfNeeded: count), to: &bytes)
        append(Int32(1), to: &bytes)
    }

    /// Reads a big-endian integer; `nil` if the column has another size.
    static func integer<Integer: FixedWidthInteger>(_ bytes: ArraySlice<UInt8>, as type: Integer.Type) -> Integer? {
        guard bytes.count == Integer.bitWidth / 8 else { return nil }
        return bytes.reduce(0) { $0 << 8 | Integer(truncatingIfNeeded: $1) }
    }

    /// Reads the elements of an array with at most one dimension; `nil` if it is malformed or contains a null.
    static func elements(_ bytes: [UInt8]) -> [ArraySlice<UInt8>]? {
        var rest = bytes[...]
        func next() -> Int32? {
            guard rest.count >= 4 else { return nil }
            defer { rest = rest.dropFirst(4) }
            return integer(rest.prefix(4), as: Int32.self)
        }
        guard let dimensions = next(), dimensions <= 1, next() != nil, next() != nil else { return nil }
        guard dimensions == 1 else { return [] }
        guard let count = next(), count >= 0, next() != nil, Int(count) <= rest.count / 4 else { return nil }
        var elements: [ArraySlice<UInt8>] = []
        elements.reserveCapacity(Int(count))
        for _ in 0..<count {
            guard let size = next(), size >= 0, Int(size) <= rest.count else { return nil }
            elements.append(rest.prefix(Int(size)))
            rest = rest.dropFirst(Int(size))
        }
        return elements
    }
}
