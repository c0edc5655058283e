import PostgreSQLClient
package import Storage

/// Copies to and from other stores.
///
/// An unfinished copy is marked by the table `storeCopy`: one row for each table with the key of its last copied row,
/// and one row with an empty name for the source.
extension PostgreSQLStore: StoreTransfer {
    /// Returns the columns in lower case, as PostgreSQL stores their names.
    package func columns() async throws(StorageError) -> [String: Set<String>] {
        let rows = try await read(
            """
            SELECT table_name::text, column_name::text FROM information_schema.columns
            WHERE table_schema = current_schema()
            """)
        return try value { () throws(PostgreSQLError) in
            var columns: [String: Set<String>] = [:]
            for row in rows { columns[try row.text(0), default: []].insert(try row.text(1)) }
            return columns
        }
    }

    package func rows(
        _ query: TransferQuery, after key: TransferKey?, limit: Int, decodesJWS: Bool
    ) async throws(StorageError) -> [TransferRow] {
        let sql = query.sql(isContinued: key != nil, limit: limit)
        let result = try await runSlowly([PostgreSQLQuery(sql, (key?.values ?? []).map(\.postgreSQL))])[0]
        let types = query.types
        var values = try value { () throws(PostgreSQLError) in
            try result.rows.map { row throws(PostgreSQLError) in try Self.values(of: row, types) }
        }
        if decodesJWS { values = try await decoded(values) }
        return values.map { TransferRow($0, of: query) }
    }

    /// Returns the values of a row.
    private static func values(
        of row: PostgreSQLRow, _ types: [TransferTable.ColumnType]
    ) throws(PostgreSQLError) -> [TransferValue] {
        var values: [TransferValue] = []
        for (column, type) in types.enumerated() {
            let value: TransferValue? =
                switch type {
                case .integer: try row.optionalInteger(column).map { .integer($0) }
                case .boolean: try row.optionalBoolean(column).map { .integer($0 ? 1 : 0) }
                case .text: try row.optionalText(column).map { .text($0) }
                case .bytes: try row.optionalBytes(column).map { .bytes($0) }
                case .jws: try row.optionalJWS(column).map { .encoded($0) }
                }
            values.append(value ?? .null)
        }
        return values
    }

    /// Replaces encoded JWS by their texts.
    private func decoded(_ rows: [[TransferValue]]) async throws(StorageError) -> [[TransferValue]] {
        let encoded = rows.joined().compactMap { value -> EncodedJWS? in
            if case .encoded(let jws) = value { jws } else { nil }
        }
        var texts = try await texts(encoded)[...]
        return rows.map { row in
            row.map { value in
                guard case .encoded = value, let text = texts.popFirst() else { return value }
                return .text(text)
            }
        }
    }

    package func count(of table: TransferTable) async throws(StorageError) -> Int64 {
        let result = try await runSlowly([PostgreSQLQuery("SELECT count(*) FROM \(table.name)")])[0]
        return try value { () throws(PostgreSQLError) in try result.rows.first?.integer(0) } ?? 0
    }

    package func beginCopy(from source: String) async throws(StorageError) -> [String: TransferKey]? {
        try await transaction { [place] transaction in
            let find = PostgreSQLQuery("SELECT to_regclass('storeCopy') IS NOT NULL")
            if try await transaction.query(find).rows.first?.boolean(0) == true {
                var marks: [String: [UInt8]] = [:]
                for row in try await transaction.query(PostgreSQLQuery("SELECT name, value FROM storeCopy")).rows {
                    marks[try row.text(0)] = try row.bytes(1)
                }
                guard marks[""] == Array(source.utf8) else {
                    throw StorageError(.changed, at: place, "the store holds an unfinished copy of another store")
                }
                return marks.compactMapValues { TransferKey(bytes: $0) }.filter { !$0.key.isEmpty }
            }
            for table in TransferTable.all {
                let first = PostgreSQLQuery("SELECT 1::bigint FROM \(table.name) LIMIT 1")
                guard try await transaction.query(first).rows.isEmpty else { return nil }
            }
            _ = try await transaction.run([
                PostgreSQLQuery("CREATE TABLE storeCopy (name text PRIMARY KEY, value bytea NOT NULL)"),
                Self.mark("", Array(source.utf8)),
            ])
            return [:]
        }
    }

    package func insert(_ rows: [TransferRow], into table: TransferTable) async throws(StorageError) {
        guard let last = rows.last?.key else { return }
        let names = table.columns.map(\.name)
        let sql = """
            INSERT INTO \(table.name) (\(names.joined(separator: ", ")))
            VALUES (\(names.indices.map { "$\($0 + 1)" }.joined(separator: ", ")))
            """
        let inserts = rows.map { row in
            PostgreSQLQuery(sql, zip(row.values, table.columns).map { $0.postgreSQL(as: $1.type) })
        }
        _ = try await runSlowly(inserts + [Self.mark(table.name, last.bytes)])
    }

    package func finishCopy() async throws(StorageError) {
        let sequences = TransferTable.all.compactMap { table in
            table.rowID.map { id in
                PostgreSQLQuery(
                    """
                    SELECT setval(pg_get_serial_sequence('\(table.name)', '\(id)'), coalesce(max(\(id)), 1),
                        max(\(id)) IS NOT NULL) FROM \(table.name)
                    """)
            }
        }
        let subjects = PostgreSQLQuery(
            """
            UPDATE delivery SET subject = originalTransactionId FROM notification
            WHERE notification.id = delivery.notification
            """)
        _ = try await runSlowly(sequences + [subjects, PostgreSQLQuery("DROP TABLE storeCopy")])
    }

    private static func mark(_ name: String, _ value: [UInt8]) -> PostgreSQLQuery {
        PostgreSQLQuery(
            "INSERT INTO storeCopy VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [.text(name), .bytes(value)])
    }
}

extension TransferValue {
    fileprivate var postgreSQL: PostgreSQLValue {
        switch self {
        case .null: .null
        case .integer(let integer): .integer(integer)
        case .text(let text): .text(text)
        case .bytes(let bytes): .bytes(bytes)
        case .encoded(let encoded): .bytes(encoded.columnBytes)
        }
    }

    fileprivate func postgreSQL(as type: TransferTable.ColumnType) -> PostgreSQLValue {
        if type == .boolean, case .integer(let integer) = self { return .boolean(integer != 0) }
        return postgreSQL
    }
}
