import ReceiptBridgeBase
import GRDB
import ReceiptBridgeStorage

/// The table and columns that are read from a foreign database.
struct TableSchema: Sendable, Hashable {
    let table: SQLName
    /// The column that identifies a row and gives the order: the rowid, or an integer primary key.
    let key: String
    /// The names of the columns that are read.
    let columns: [ColumnRole: SQLName]
    /// The statement that created the table.
    let schema: String
    /// What is wrong with the ids of the first rows, see ``ColumnSuggestions/notice(ofIds:)``; `nil` if nothing is.
    let notice: String?

    /// Reads the schema of the database. Every error names the tables or columns that exist.
    init(_ options: SourceOptions, in db: Database, at place: String) throws {
        let (name, schema) = try Self.table(options.table, in: db, at: place)
        self.schema = schema
        table = SQLName(name)
        let place = "\(place), table \(name)"
        let all = try Column.all(of: name, in: db)
        key = try Self.key(of: table, columns: all, in: db, at: place)
        let names = all.map(\.name)
        do throws(ColumnProblem) {
            columns = try ColumnNames(names: names).selected(by: options).mapValues { SQLName(names[$0]) }
        } catch {
            let suggestions = Self.suggestions(for: names, of: table, in: db)
            let inventory = "there are: \(names.joined(separator: ", "))"
            throw StorageError(.missingColumn, at: place, error.reason(inventory, names, suggestions: suggestions))
        }
        let id = columns[.id]?.text
        notice = Self.suggestions(for: id.map { [$0] } ?? names, of: table, in: db).notice(ofIds: id)
    }

    private static func suggestions(for names: [String], of table: SQLName, in db: Database) -> ColumnSuggestions {
        var found = ColumnSuggestions(names)
        let length = ColumnSuggestions.shortestReceipt
        for name in names {
            let column = SQLName(name)
            let values = try? db.texts(
                """
                SELECT CASE typeof(\(column)) WHEN 'blob' THEN hex(substr(\(column), 1, \(length)))
                    WHEN 'null' THEN '' ELSE substr(\(column), 1, \(length)) END
                FROM \(table) LIMIT \(ColumnSuggestions.sampleSize)
                """)
            for value in values ?? [] { found.add(Array(value.utf8), in: name) }
        }
        return found
    }

    /// Returns the selected table, otherwise the only table, otherwise `receipts`.
    private static func table(
        _ requested: String?, in db: Database, at place: String
    ) throws -> (name: String, schema: String) {
        let all = try db.rows(
            """
            SELECT name, type, coalesce(sql, '') FROM sqlite_master
            WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
            """
        ).map { (name: try $0.text(0), isView: try $0.text(1) == "view", schema: try $0.text(2)) }
        let tables = all.filter { !$0.isView }
        let named = all.filter { SQLName.areSame($0.name, requested ?? "receipts") }
        guard let found = requested == nil && tables.count == 1 ? tables.first : named.first else {
            let names =
                tables.isEmpty
                ? "there is none" : "there are: \(tables.map(\.name).joined(separator: ", ")); choose one with --table"
            let problem = requested.map { "no table \($0)" } ?? "no table receipts, and not exactly one table"
            let question = requested?.didYouMean(all.map(\.name)) ?? ""
            throw StorageError(.missingTable, at: place, "\(problem); \(names)\(question)")
        }
        guard !found.isView else {
            let reason = "\(found.name) is a view: its rows have no integer key to resume from; select a table"
            throw StorageError(.unusableTable, at: place, reason)
        }
        return (found.name, found.schema)
    }

    /// Returns a name of the rowid that is not the name of a column. In a table without rowids, returns its integer
    /// primary key.
    private static func key(
        of table: SQLName, columns: [Column], in db: Database, at place: String
    ) throws -> String {
        let free = ["rowid", "_rowid_", "oid"].first { name in !columns.contains { SQLName.areSame($0.name, name) } }
        if let free, (try? db.makeStatement(sql: "SELECT \(free) FROM \(table) LIMIT 0")) != nil { return free }
        let primary = columns.filter { $0.positionInPrimaryKey > 0 }
        if primary.count == 1, primary[0].type.uppercased().contains("INT") { return "\(SQLName(primary[0].name))" }
        let reason = "the rows have neither a rowid nor an integer primary key to resume from"
        throw StorageError(.unusableTable, at: place, reason)
    }

    /// A column as SQLite describes it, including generated columns.
    private struct Column {
        let name: String
        let type: String
        /// Position in the primary key, from 1; 0 for a column outside the primary key.
        let positionInPrimaryKey: Int

        static func all(of table: String, in db: Database) throws -> [Column] {
            try db.rows("SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1", [table]).map {
                Column(name: try $0.text(0), type: try $0.text(1), positionInPrimaryKey: Int(try $0.integer(2)))
            }
        }
    }
}
