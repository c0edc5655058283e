import Foundation

/// The number of a type in PostgreSQL's catalogue.
enum PostgreSQLType {
    static let boolean: UInt32 = 16
    static let bytes: UInt32 = 17
    static let integer: UInt32 = 20
    static let text: UInt32 = 25
    static let booleanArray: UInt32 = 1000
    static let byteStringArray: UInt32 = 1001
    static let textArray: UInt32 = 1009
    static let integerArray: UInt32 = 1016
    /// `bigint`, `smallint`, `integer`, `oid`
    static let integers: Set<UInt32> = [20, 21, 23, 26]
    /// `text`, `name`, `json`, `unknown`, `char(n)`, `varchar(n)`
    static let texts: Set<UInt32> = [25, 19, 114, 705, 1042, 1043]
}

/// A statement with arguments in PostgreSQL's binary format.
struct PostgreSQLStatement: Sendable {
    let sql: String
    /// The type of each argument, 0 for null.
    let types: [UInt32]
    /// The length of each argument in bytes, -1 for null.
    private let lengths: [CInt]
    /// All arguments, one after the other, and a final zero so that it is never empty.
    private let bytes: [UInt8]

    private static let maximumArguments = 65_535
    private static let maximumBytes = 512 << 20

    /// Throws `invalid` if an argument cannot be sent.
    init(_ query: SQLStatement) throws(PostgreSQLError) {
        guard query.values.count <= Self.maximumArguments else {
            throw PostgreSQLError(.invalid, "a statement has more than \(Self.maximumArguments) arguments")
        }
        guard !query.sql.containsNUL else { throw PostgreSQLError(.invalid, "a statement contains U+0000") }
        var types: [UInt32] = []
        var lengths: [CInt] = []
        var bytes: [UInt8] = []
        for argument in query.values {
            types.append(argument.type)
            let start = bytes.count
            let isPresent = try argument.encode(to: &bytes)
            guard bytes.count <= Self.maximumBytes else {
                throw PostgreSQLError(
                    .invalid, "the arguments of a statement are longer than \(Self.maximumBytes) bytes")
            }
            lengths.append(isPresent ? CInt(bytes.count - start) : -1)
        }
        bytes.append(0)
        sql = query.sql
        (self.types, self.lengths, self.bytes) = (types, lengths, bytes)
    }

    /// Calls the closure with the arguments as libpq expects them: count, values, lengths and formats.
    func withArguments(
        _ body: (CInt, UnsafePointer<PostgreSQLLibrary.Text>?, UnsafePointer<CInt>?, UnsafePointer<CInt>?) -> CInt
    ) -> CInt {
        bytes.withUnsafeBytes { buffer in
            var offset = 0
            var values: [PostgreSQLLibrary.Text] = []
            values.reserveCapacity(lengths.count)
            for length in lengths {
                guard length >= 0, let base = buffer.baseAddress else {
                    values.append(nil)
                    continue
                }
                values.append((base + offset).assumingMemoryBound(to: CChar.self))
                offset += Int(length)
            }
            let formats = [CInt](repeating: 1, count: lengths.count)
            return body(CInt(lengths.count), values, lengths, formats)
        }
    }
}

extension SQLValue {
    /// The number of the type, 0 for null.
    var type: UInt32 {
        switch self {
        case .null: 0
        case .boolean: PostgreSQLType.boolean
        case .integer: PostgreSQLType.integer
        case .text: PostgreSQLType.text
        case .bytes, .jws: PostgreSQLType.bytes
        case .integers: PostgreSQLType.integerArray
        case .texts: PostgreSQLType.textArray
        case .byteStrings: PostgreSQLType.byteStringArray
        case .array(let type, _): type.array
        }
    }

    /// Appends the value in the binary format, without a length. Returns false for null.
    func encode(to bytes: inout [UInt8]) throws(PostgreSQLError) -> Bool {
        switch self {
        case .null: return false
        case .boolean(let boolean): bytes.append(boolean ? 1 : 0)
        case .integer(let integer): bytes.append(bigEndian: integer)
        case .text(let text): try bytes.append(checked: text)
        case .bytes(let value): bytes += value
        case .jws(let text): bytes += text.columnBytes
        case .integers(let values):
            try bytes.append(arrayOf: values, PostgreSQLType.integer) { (bytes, value) in
                bytes.append(bigEndian: value)
            }
        case .texts(let values):
            try bytes.append(arrayOf: values, PostgreSQLType.text) { (bytes, value) throws(PostgreSQLError) in
                try bytes.append(checked: value)
            }
        case .byteStrings(let values):
            try bytes.append(arrayOf: values, PostgreSQLType.bytes) { (bytes, value) in bytes += value }
        case .array(let type, let values):
            try bytes.append(arrayOf: values, type)
        }
        return true
    }
}

extension StoreTable.ColumnType {
    var number: UInt32 {
        switch self {
        case .boolean: PostgreSQLType.boolean
        case .integer: PostgreSQLType.integer
        case .text: PostgreSQLType.text
        case .bytes, .jws: PostgreSQLType.bytes
        }
    }

    /// The number of the type of arrays.
    var array: UInt32 {
        switch self {
        case .boolean: PostgreSQLType.booleanArray
        case .integer: PostgreSQLType.integerArray
        case .text: PostgreSQLType.textArray
        case .bytes, .jws: PostgreSQLType.byteStringArray
        }
    }
}

extension String {
    /// Whether the text contains U+0000. A system function searches 16 bytes at a time, and statements are long.
    var containsNUL: Bool {
        let found = utf8.withContiguousStorageIfAvailable { bytes in
            bytes.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false
        }
        return found ?? utf8.contains(0)
    }
}

extension [UInt8] {
    /// Appends an integer, most significant byte first.
    mutating func append(bigEndian integer: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: integer.bigEndian) { append(contentsOf: $0) }
    }

    /// Appends the length in 32 bits and then what the closure appends.
    mutating func appendField(_ body: (inout Self) throws(PostgreSQLError) -> Bool) throws(PostgreSQLError) {
        let start = count
        append(bigEndian: Int32(-1))
        guard try body(&self) else { return }
        guard let length = Int32(exactly: count - start - 4) else {
            throw PostgreSQLError(.invalid, "a value is longer than 2 GB")
        }
        withUnsafeMutableBytes { $0.storeBytes(of: length.bigEndian, toByteOffset: start, as: Int32.self) }
    }

    /// Appends UTF-8. Throws `invalid` for U+0000, which PostgreSQL's text cannot hold.
    fileprivate mutating func append(checked text: String) throws(PostgreSQLError) {
        guard !text.containsNUL else { throw PostgreSQLError(.invalid, "a text contains U+0000") }
        append(contentsOf: text.utf8)
    }

    fileprivate mutating func append(
        arrayOf values: [SQLValue], _ type: StoreTable.ColumnType
    ) throws(PostgreSQLError) {
        try append(arrayHeader: values.count, type.number, hasNulls: values.contains { $0.type == 0 })
        for value in values {
            guard value.type == type.number || value.type == 0 else {
                throw PostgreSQLError(.invalid, "an array contains a value of another type")
            }
            try appendField { (bytes) throws(PostgreSQLError) in try value.encode(to: &bytes) }
        }
    }

    /// Appends what precedes the elements of a one-dimensional array: dimensions, whether it has nulls, element type,
    /// count, lower bound.
    private mutating func append(arrayHeader count: Int, _ type: UInt32, hasNulls: Bool) throws(PostgreSQLError) {
        guard let number = Int32(exactly: count) else {
            throw PostgreSQLError(.invalid, "an array has too many elements")
        }
        append(bigEndian: Int32(count == 0 ? 0 : 1))
        append(bigEndian: Int32(hasNulls ? 1 : 0))
        append(bigEndian: type)
        if count == 0 { return }
        append(bigEndian: number)
        append(bigEndian: Int32(1))
    }

    fileprivate mutating func append<Item>(
        arrayOf elements: [Item], _ type: UInt32,
        _ body: (inout Self, Item) throws(PostgreSQLError) -> Void
    ) throws(PostgreSQLError) {
        try append(arrayHeader: elements.count, type, hasNulls: false)
        for element in elements {
            try appendField { (bytes) throws(PostgreSQLError) in
                try body(&bytes, element)
                return true
            }
        }
    }
}
