import Foundation
import GRDB
package import Storage

/// Copies to and from other stores.
///
/// An unfinished copy is marked by the table `storeCopy`: one row for each table with the key of its last copied row,
/// and one row with an empty name for the source.
extension SQLiteStore: StoreTransfer {
    package func columns() async throws(StorageError) -> [String: Set<String>] {
        try await read { db in
            let tables = try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
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
            let cursor = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
            var rows: [TransferRow] = []
            while let row = try cursor.next() {
                let values = try query.types.enumerated().map { index, type in
                    let value = TransferValue(row[index] as DatabaseValue, as: type)
                    guard decodesJWS, case .encoded(let encoded) = value else { return value }
                    return .text(try self.text(encoded, in: db))
                }
                rows.append(TransferRow(values, of: query))
            }
            return rows
        }
    }

    package func count(of table: TransferTable) async throws(StorageError) -> Int64 {
        try await read { db in try Int64.fetchOne(db, sql: "SELECT count(*) FROM \(table.name)") ?? 0 }
    }

    package func beginCopy(from source: String) async throws(StorageError) -> [String: TransferKey] {
        let path = path
        return try await write { db in
            if try db.tableExists("storeCopy") {
                let rows = try Row.fetchAll(db, sql: "SELECT name, value FROM storeCopy")
                let marks = Dictionary(uniqueKeysWithValues: rows.map { ($0[0] as String, [UInt8]($0[1] as Data)) })
                guard marks[""] == Array(source.utf8) else {
                    throw StorageError(.changed, at: path, "the store holds an unfinished copy of another store")
                }
                return marks.compactMapValues { TransferKey(bytes: $0) }.filter { !$0.key.isEmpty }
            }
            for table in TransferTable.all
            where try Int.fetchOne(db, sql: "SELECT 1 FROM \(table.name) LIMIT 1") != nil {
                throw StorageError(.changed, at: path, "the store is not empty: it has \(table.title)")
            }
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

extension TransferValue {
    fileprivate init(_ value: DatabaseValue, as type: TransferTable.ColumnType) {
        if value.isNull {
            self = .null
            return
        }
        self =
            switch type {
            case .integer, .boolean: Int64.fromDatabaseValue(value).map { .integer($0) } ?? .null
            case .text: String.fromDatabaseValue(value).map { .text($0) } ?? .null
            case .bytes: Data.fromDatabaseValue(value).map { .bytes([UInt8]($0)) } ?? .null
            case .jws: .encoded(EncodedJWS.fromDatabaseValue(value) ?? .damaged)
            }
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
