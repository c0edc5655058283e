/// The result of one statement.
package struct PostgreSQLResult: Sendable {
    package let rows: [PostgreSQLRow]
    /// Number of inserted, updated, deleted or returned rows.
    package let affectedRows: Int
}

/// A row of a result. Columns are counted from 0.
package struct PostgreSQLRow: Sendable {
    /// The columns in binary format; `nil` for null.
    let columns: [[UInt8]?]

    /// The text of a `text` or `varchar` column.
    package func text(_ index: Int) throws(PostgreSQLError) -> String { try required(optionalText(index), index) }
    /// The number of a `bigint`, `integer` or `smallint` column.
    package func integer(_ index: Int) throws(PostgreSQLError) -> Int64 {
        try required(optionalInteger(index), index)
    }
    package func boolean(_ index: Int) throws(PostgreSQLError) -> Bool {
        try required(optionalBoolean(index), index)
    }
    /// The bytes of a `bytea` column.
    package func bytes(_ index: Int) throws(PostgreSQLError) -> [UInt8] {
        try required(optionalBytes(index), index)
    }

    package func optionalText(_ index: Int) throws(PostgreSQLError) -> String? {
        guard let bytes = try column(index) else { return nil }
        return try required(String(validating: bytes, as: UTF8.self), index)
    }

    package func optionalInteger(_ index: Int) throws(PostgreSQLError) -> Int64? {
        guard let bytes = try column(index) else { return nil }
        let integer: Int64? =
            switch bytes.count {
            case 8: BinaryFormat.integer(bytes[...], as: Int64.self)
            case 4: BinaryFormat.integer(bytes[...], as: Int32.self).map(Int64.init)
            case 2: BinaryFormat.integer(bytes[...], as: Int16.self).map(Int64.init)
            default: nil
            }
        return try required(integer, index)
    }

    package func optionalBoolean(_ index: Int) throws(PostgreSQLError) -> Bool? {
        guard let bytes = try column(index) else { return nil }
        guard bytes.count == 1 else { throw unexpected(index) }
        return bytes[0] != 0
    }

    package func optionalBytes(_ index: Int) throws(PostgreSQLError) -> [UInt8]? { try column(index) }

    /// The elements of a `bigint[]` column.
    package func integers(_ index: Int) throws(PostgreSQLError) -> [Int64] {
        try elements(index) { BinaryFormat.integer($0, as: Int64.self) }
    }

    /// The elements of a `text[]` column.
    package func texts(_ index: Int) throws(PostgreSQLError) -> [String] {
        try elements(index) { String(validating: $0, as: UTF8.self) }
    }

    private func elements<Element>(
        _ index: Int, _ read: (ArraySlice<UInt8>) -> Element?
    ) throws(PostgreSQLError) -> [Element] {
        guard let elements = BinaryFormat.elements(try bytes(index)) else { throw unexpected(index) }
        var values: [Element] = []
        values.reserveCapacity(elements.count)
        for element in elements { values.append(try required(read(element), index)) }
        return values
    }

    private func column(_ index: Int) throws(PostgreSQLError) -> [UInt8]? {
        guard columns.indices.contains(index) else { throw unexpected(index) }
        return columns[index]
    }

    private func required<Value>(_ value: Value?, _ index: Int) throws(PostgreSQLError) -> Value {
        guard let value else { throw unexpected(index) }
        return value
    }

    private func unexpected(_ index: Int) -> PostgreSQLError {
        PostgreSQLError(.invalid, "column \(index) is null or of an unexpected type")
    }
}
