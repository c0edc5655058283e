import Foundation
import GRDB

/// Copies to and from other stores.
///
/// An unfinished copy is marked by the table `storeCopy`: one row for each table with the key of its last copied row,
/// and one row with an empty name for the source.
extension SQLiteStore: StoreTransfer {
    package func columns() async throws(StorageError) -> [String: Set<String>] {
        try await read { db in
            let tables = try db.texts(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
            return try Dictionary(
                uniqueKeysWithValues: tables.map { table in
                    var columns = Set(try db.columns(in: table).map(\.name))
                    if Self.tablesWithHiddenRowID.contains(table) { columns.insert("id") }
                    return (table, columns)
                })
        }
    }

    package func rows(
        _ query: TransferQuery, after key: TransferKey?, limit: Int, decodesJWS: Bool
    ) async throws(StorageError) -> [TransferRow] {
        let sql = Self.tablesWithHiddenRowID.reduce(query.sql(isContinued: key != nil, limit: limit)) { sql, table in
            sql.replacing("\(table).id", with: "\(table).rowid")
        }
        return try await read { db in
            let arguments = StatementArguments((key?.values ?? []).map(\.databaseValue))
            var rows: [TransferRow] = []
            var last = key
            try db.forEachRow(sql, arguments) { row in
                let values = try query.types.enumerated().map { column, type in
                    decodesJWS && type == .jws && !row.isNull(column)
                        ? .text(try self.text(row, column, in: db)) : try TransferValue(row, column, as: type)
                }
                let found = TransferRow(values, of: query)
                // In a damaged file a key can come again, and reading after it would never end.
                if let last, !last.isBelow(found.key) { throw row.damage(0) }
                last = found.key
                rows.append(found)
            }
            return rows
        }
    }

    package func count(of table: TransferTable) async throws(StorageError) -> Int64 {
        try await read { db in try db.integer("SELECT count(*) FROM \(table.name)") ?? 0 }
    }

    package func beginCopy(from source: String) async throws(StorageError) -> [String: TransferKey]? {
        let path = path
        return try await write { db in
            if try db.tableExists("storeCopy") {
                let rows = try db.rows("SELECT name, value FROM storeCopy").map { (try $0.text(0), try $0.bytes(1)) }
                let marks = Dictionary(rows) { first, _ in first }
                guard marks[""] == Array(source.utf8) else {
                    throw StorageError(.changed, at: path, "the store holds an unfinished copy of another store")
                }
                return marks.compactMapValues { TransferKey(bytes: $0) }.filter { !$0.key.isEmpty }
            }
            for table in TransferTable.all
            where try db.exists("SELECT 1 FROM \(table.name) LIMIT 1") { return nil }
            try db.execute(sql: "CREATE TABLE storeCopy (name TEXT PRIMARY KEY, value BLOB NOT NULL)")
            try Self.mark("", Array(source.utf8), in: db)
            return [:]
        }
    }

    package func insert(_ rows: [TransferRow], into table: TransferTable) async throws(StorageError) {
        guard let last = rows.last?.key else { return }
        let isHidden = Self.tablesWithHiddenRowID.contains(table.name)
        let names = table.columns.map { isHidden && $0.name == "id" ? "rowid" : $0.name }
        let sql = """
            INSERT INTO \(table.name) (\(names.joined(separator: ", ")))
            VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))
            """
        try await write { db in
            let statement = try db.cachedStatement(sql: sql)
            for row in rows { try statement.execute(arguments: StatementArguments(row.values.map(\.databaseValue))) }
            try Self.mark(table.name, last.bytes, in: db)
        }
    }

    package func finishCopy() async throws(StorageError) {
        try await write { db in try db.execute(sql: "DROP TABLE storeCopy") }
    }

    private static func mark(_ name: String, _ value: [UInt8], in db: Database) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO storeCopy VALUES (?, ?)", arguments: [name, Data(value)])
    }

    /// Tables whose row id has no column in SQLite, and the column `id` in other engines.
    private static let tablesWithHiddenRowID: Set<String> = ["supersededTransaction", "differenceExample"]
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

extension TransferValue {
    fileprivate init(_ row: SQLiteRow, _ column: Int, as type: TransferTable.ColumnType) throws(DamagedValue) {
        if row.isNull(column) {
            self = .null
            return
        }
        self =
            switch type {
            case .integer, .boolean: .integer(try row.integer(column))
            case .text: .text(try row.text(column))
            case .bytes: .bytes(try row.bytes(column))
            case .jws: .encoded(row.jws(column))
            }
        if case .encoded(.damaged) = self { throw row.damage(column) }
    }

    fileprivate var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let integer): integer.databaseValue
        case .text(let text): text.databaseValue
        case .bytes(let bytes): Data(bytes).databaseValue
        case .encoded(let encoded): encoded.databaseValue
        }
    }
}
