import ReceiptBridgeBase

/// An unfinished copy is marked by the table `storeCopy`: one row for each table with the key of its last copied row,
/// and one row with an empty name for the source.
extension StoreTransfer where Self: SQLEngine {
    package func rows(
        _ query: TransferQuery, after key: TransferKey?, limit: Int, decodesJWS: Bool
    ) async throws(StorageError) -> [TransferRow] {
        let statement = SQLStatement(query.sql(isContinued: key != nil, limit: limit, dialect), key?.values ?? [])
        let types = query.types
        let rows = try await readSlowly(statement) { (row) throws(StorageError) in
            var values: [SQLValue] = []
            for (column, type) in types.enumerated() {
                values.append(try row.value(column, type, decodesJWS: decodesJWS))
            }
            return TransferRow(values, of: query)
        }
        if dialect == .sqlite { try requireAscendingKeys(rows, after: key, of: query.table) }
        return rows
    }

    /// In a damaged file a key can come again, and reading after it would never end.
    private func requireAscendingKeys(
        _ rows: [TransferRow], after key: TransferKey?, of table: StoreTable
    ) throws(StorageError) {
        var last = key
        for row in rows {
            if let last, !last.isBelow(row.key) {
                throw StorageError(.damaged, at: place, "the keys of \(table.name) are damaged")
            }
            last = row.key
        }
    }

    package func count(of table: StoreTable) async throws(StorageError) -> Int64 {
        try await readSlowly(SQLStatement("SELECT count(*) FROM \(table.name)")) { (row) throws(StorageError) in
            try row.integer(0)
        }.first ?? 0
    }

    package func beginCopy(from source: String) async throws(StorageError) -> [String: TransferKey]? {
        let isBegun = try await read(SQLStatement("SELECT \(dialect.exists(table: "storeCopy"))")) {
            (row) throws(StorageError) in try row.boolean(0)
        }
        if isBegun.contains(true) {
            let marks = try await read(SQLStatement("SELECT name, value FROM storeCopy")) {
                (row) throws(StorageError) in (try row.text(0), try row.bytes(1))
            }
            guard marks.contains(where: { $0 == ("", Array(source.utf8)) }) else {
                throw StorageError(.changed, at: place, "the store holds an unfinished copy of another store")
            }
            return Dictionary(marks) { first, _ in first }.compactMapValues { TransferKey(bytes: $0) }
                .filter { !$0.key.isEmpty }
        }
        for table in StoreTable.copied {
            let first = SQLStatement("SELECT 1 FROM \(table.name) LIMIT 1")
            guard try await read(first, { (_) throws(StorageError) in true }).isEmpty else { return nil }
        }
        // Another copy that began meanwhile has created the table, so this one fails.
        let creation = StoreTable.storeCopy.creation(dialect).map { SQLStatement($0) }
        try await write(creation + [Self.mark("", Array(source.utf8))])
        return [:]
    }

    package func insert(_ rows: [TransferRow], into table: StoreTable) async throws(StorageError) {
        guard let last = rows.last?.key else { return }
        let columns = table.copiedColumns
        let names = columns.map { table.hasHiddenNumber && $0.numbering != nil ? dialect.rowID : $0.name }
        let sql = """
            INSERT INTO \(table.name) (\(names.joined(separator: ", ")))
            VALUES (\(names.indices.map { "$\($0 + 1)" }.joined(separator: ", ")))
            """
        try await writeSlowly(rows.map { SQLStatement(sql, $0.values) } + [Self.mark(table.name, last.bytes)])
    }

    package func finishCopy() async throws(StorageError) {
        try await writeSlowly(completionOfCopy + [SQLStatement("DROP TABLE storeCopy")])
    }

    private static func mark(_ name: String, _ value: [UInt8]) -> SQLStatement {
        SQLStatement(
            "INSERT INTO storeCopy VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            .text(name), .bytes(value))
    }
}

extension StoreTable {
    /// The mark of an unfinished copy.
    fileprivate static let storeCopy = StoreTable(
        "storeCopy", .internals, key: ["name"], [.text("name"), .bytes("value")])
}

extension SQLRow {
    fileprivate func value(
        _ column: Int, _ type: StoreTable.ColumnType, decodesJWS: Bool
    ) throws(StorageError) -> SQLValue {
        switch type {
        case .integer: return SQLValue(try number(column))
        case .boolean: return try optionalBoolean(column).map { .boolean($0) } ?? .null
        case .text: return SQLValue(try optionalText(column))
        case .bytes: return try optionalBytes(column).map { .bytes($0) } ?? .null
        case .jws:
            guard let jws = try encodedText(column) else { return .null }
            guard jws != .damaged else { throw damage(column) }
            return decodesJWS ? .text(try signedText(column)) : .jws(jws)
        }
    }
}

extension TransferKey {
    /// Compares as SQLite does: numbers before texts before bytes, and texts by their bytes.
    fileprivate func isBelow(_ other: TransferKey) -> Bool {
        for (value, other) in zip(values, other.values) where value != other {
            switch (value, other) {
            case (.integer(let value), .integer(let other)): return value < other
            case (.text(let value), .text(let other)): return value.utf8.lexicographicallyPrecedes(other.utf8)
            case (.bytes(let value), .bytes(let other)): return value.lexicographicallyPrecedes(other)
            case (.null, _), (.integer, _), (.text, .bytes): return true
            default: return false
            }
        }
        return false
    }
}
