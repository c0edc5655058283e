/// The outcome of a statement.
package struct PostgreSQLResult: Sendable {
    package let rows: [PostgreSQLRow]
    /// The first word of the command tag, such as `INSERT` or `ROLLBACK`.
    let command: String
}

/// A row of a result. Columns are read by their index, from 0. A column of another type is an error `invalid`.
package struct PostgreSQLRow: Sendable {
    let table: PostgreSQLTable
    let index: Int

    /// The value of a `smallint`, `integer` or `bigint`.
    package func integer(_ column: Int) throws(PostgreSQLError) -> Int64 {
        try present(column, optionalInteger(column))
    }

    package func optionalInteger(_ column: Int) throws(PostgreSQLError) -> Int64? {
        guard let bytes = try value(column, PostgreSQLType.integers) else { return nil }
        var reader = PostgreSQLReader(bytes)
        // An oid is the only unsigned one.
        if try type(column) == 26 { return Int64(try reader.integer(UInt32.self)) }
        switch bytes.count {
        case 2: return Int64(try reader.integer(Int16.self))
        case 4: return Int64(try reader.integer(Int32.self))
        default: return try reader.integer(Int64.self)
        }
    }

    /// The value of a `text`, `varchar`, `char`, `name` or `json`.
    package func text(_ column: Int) throws(PostgreSQLError) -> String { try present(column, optionalText(column)) }

    package func optionalText(_ column: Int) throws(PostgreSQLError) -> String? {
        try value(column, PostgreSQLType.texts).map { String(decoding: $0, as: UTF8.self) }
    }

    package func bytes(_ column: Int) throws(PostgreSQLError) -> [UInt8] {
        try present(column, optionalBytes(column))
    }

    package func optionalBytes(_ column: Int) throws(PostgreSQLError) -> [UInt8]? {
        try value(column, [PostgreSQLType.bytes]).map { [UInt8]($0) }
    }

    package func boolean(_ column: Int) throws(PostgreSQLError) -> Bool {
        try present(column, optionalBoolean(column))
    }

    package func optionalBoolean(_ column: Int) throws(PostgreSQLError) -> Bool? {
        try value(column, [PostgreSQLType.boolean]).map { $0.first == 1 }
    }

    /// The elements of a `text[]`, without nulls.
    package func texts(_ column: Int) throws(PostgreSQLError) -> [String] {
        var reader = PostgreSQLReader(try present(column, value(column, [PostgreSQLType.textArray])))
        return try reader.array().map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Bytes

    private func present<Value>(_ column: Int, _ value: Value?) throws(PostgreSQLError) -> Value {
        guard let value else { throw PostgreSQLError(.invalid, "column \(column) is null") }
        return value
    }

    private func type(_ column: Int) throws(PostgreSQLError) -> UInt32 {
        guard table.types.indices.contains(column) else {
            throw PostgreSQLError(.invalid, "the result has no column \(column)")
        }
        return table.types[column]
    }

    /// The bytes of a column of one of the types, or `nil` for null.
    private func value(_ column: Int, _ types: Set<UInt32>) throws(PostgreSQLError) -> ArraySlice<UInt8>? {
        let type = try type(column)
        guard types.contains(type) else {
            throw PostgreSQLError(.invalid, "column \(column) has the type number \(type)")
        }
        let cell = index * table.types.count + column
        guard let length = table.lengths[cell] else { return nil }
        return table.bytes[table.starts[cell]..<table.starts[cell] + length]
    }
}

/// The values of a result, copied from libpq.
final class PostgreSQLTable: Sendable {
    let types: [UInt32]
    /// The place of each value in `bytes`, row by row.
    let starts: [Int]
    /// The length of each value in bytes, `nil` for null.
    let lengths: [Int?]
    let bytes: [UInt8]

    init(types: [UInt32], starts: [Int], lengths: [Int?], bytes: [UInt8]) {
        (self.types, self.starts, self.lengths, self.bytes) = (types, starts, lengths, bytes)
    }
}

/// Reads a value in the binary format. Throws `invalid` if it is too short.
struct PostgreSQLReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func integer<Integer: FixedWidthInteger>(_: Integer.Type) throws(PostgreSQLError) -> Integer {
        try bytes(MemoryLayout<Integer>.size).reduce(0) { $0 << 8 | Integer(truncatingIfNeeded: $1) }
    }

    mutating func bytes(_ count: Int) throws(PostgreSQLError) -> ArraySlice<UInt8> {
        guard count >= 0, rest.count >= count else { throw PostgreSQLError(.invalid, "a value is incomplete") }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    /// The elements of an array of at most one dimension, without nulls.
    mutating func array() throws(PostgreSQLError) -> [ArraySlice<UInt8>] {
        let dimensions = try integer(Int32.self)
        _ = try bytes(8)
        if dimensions == 0 { return [] }
        guard dimensions == 1 else { throw PostgreSQLError(.invalid, "an array has more than one dimension") }
        let count = try integer(Int32.self)
        _ = try bytes(4)
        var elements: [ArraySlice<UInt8>] = []
        // Each element has at least four bytes, so that the loop ends even if the count is wrong.
        for _ in 0..<max(count, 0) {
            let length = try integer(Int32.self)
            guard length >= 0 else { throw PostgreSQLError(.invalid, "an array contains null") }
            elements.append(try bytes(Int(length)))
        }
        return elements
    }
}
