import ReceiptBridgeBase

/// Imports of stored receipts: the decoded rows of a source, their customers and what lookups found.
///
/// A file has one import and one worker. In a database, any number of workers on any machines share an import: chunks
/// and tasks have leases, and every statement is safe to repeat. All times but those of rows are those of the store's
/// clock.
package protocol ImportStore: SQLEngine {}

extension ImportStore {
    /// Returns the import of a name; `nil` without one.
    package func existingImport(_ name: String) async throws(StorageError) -> ImportRun? {
        try await read(
            SQLStatement(
                "SELECT id, progress, calls, \(dialect.now("$2")) FROM importRun WHERE name = $1",
                .text(name.withoutNull), SQLValue(Timestamp.now))
        ) { (row) throws(StorageError) in
            ImportRun(
                id: try row.rowID(0), progress: try row.text(1), calls: try row.count(2), time: try row.integer(3))
        }.first
    }

    /// Returns the import of a name. Inserts a missing one.
    package func beginImport(_ name: String, progress: String) async throws(StorageError) -> ImportRun {
        let key = SQLValue.text(name.withoutNull)
        try await write([
            SQLStatement(
                """
                INSERT INTO importRun (name, progress, createdAt) VALUES ($1, $2, \(dialect.now("$3")))
                ON CONFLICT (name) DO NOTHING
                """, key, .text(progress.withoutNull), SQLValue(Timestamp.now)),
            SQLStatement(
                """
                INSERT INTO importChunk (run, number)
                SELECT id, number FROM importRun, (SELECT -1 AS number UNION ALL SELECT -2 UNION ALL SELECT -3) AS task
                WHERE name = $1 ON CONFLICT DO NOTHING
                """, key),
        ])
        guard let run = try await existingImport(name) else {
            throw StorageError(.failed, at: place, "the import cannot be read")
        }
        return run
    }

    /// Stores the progress of an import.
    package func save(progress: String, of run: Int64) async throws(StorageError) {
        try await write([Self.saving(progress: progress, of: run)])
    }

    static func saving(progress: String, of run: Int64) -> SQLStatement {
        SQLStatement("UPDATE importRun SET progress = $2 WHERE id = $1", .integer(run), .text(progress.withoutNull))
    }

    private static func adding(calls: Int64, to run: Int64) -> SQLStatement {
        SQLStatement("UPDATE importRun SET calls = calls + $2 WHERE id = $1", .integer(run), .integer(calls))
    }

    /// Adds calls of a worker to those of the import.
    package func add(calls: Int64, to run: Int64) async throws(StorageError) {
        if calls > 0 { try await writeOnce([Self.adding(calls: calls, to: run)]) }
    }

    /// Deletes an import and its rows.
    ///
    /// - Returns: `false` while a worker has a lease. Then nothing is deleted.
    package func removeImport(_ name: String) async throws(StorageError) -> Bool {
        let found = try await read(
            SQLStatement(
                """
                SELECT id, EXISTS (
                    SELECT 1 FROM importChunk WHERE run = importRun.id AND state = 1 AND expiresAt > \(dialect.now("$2")))
                FROM importRun WHERE name = $1
                """, .text(name.withoutNull), SQLValue(Timestamp.now))
        ) { (row) throws(StorageError) in (id: try row.rowID(0), isUsed: try row.boolean(1)) }.first
        guard let found else { return true }
        guard !found.isUsed else { return false }
        try await writeSlowly(
            // The chunks before the rows: a worker that stores rows holds its chunk until they are committed.
            [
                SQLStatement("DELETE FROM importRun WHERE id = $1", .integer(found.id)),
                SQLStatement("DELETE FROM importChunk WHERE run = $1", .integer(found.id)),
            ]
                + StoreTable.imports.filter { !["importRun", "importChunk"].contains($0.name) }.reversed().map {
                    SQLStatement("DELETE FROM \($0.name) WHERE run = $1", .integer(found.id))
                })
        return true
    }
}

extension SQLDialect {
    /// The statements that run a text for each of some rows: one for all, or one for each.
    ///
    /// - Parameters:
    ///   - columns: the columns of the rows.
    ///   - sql: returns the text. Its argument is a table with these columns.
    func each(
        _ rows: [[SQLValue]], _ columns: KeyValuePairs<String, StoreTable.ColumnType>, _ sql: (String) -> String
    ) -> [SQLStatement] {
        guard !rows.isEmpty else { return [] }
        let names = columns.map(\.key)
        switch self {
        case .sqlite:
            let values = names.enumerated().map { "$\($0 + 1) AS \($1)" }.joined(separator: ", ")
            let text = sql("(SELECT \(values)) AS new")
            return rows.map { SQLStatement(text, $0) }
        case .postgreSQL:
            let parameters = names.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
            let text = sql("unnest(\(parameters)) AS new (\(names.joined(separator: ", ")))")
            let arrays = columns.enumerated().map { index, column in
                SQLValue.array(column.value, rows.map { $0[index] })
            }
            return [SQLStatement(text, arrays)]
        }
    }

    /// Locks the rows of a query against changes. SQLite has one writer.
    var lockingShared: String { either(sqlite: "", postgreSQL: "FOR SHARE") }

    /// The place of a text in another one, from 1; 0 if it is not there.
    func place(of text: String, in other: String) -> String {
        either(sqlite: "instr(\(other), \(text))", postgreSQL: "strpos(\(other), \(text))")
    }

    /// The texts of a query's column, in lines.
    func lines(_ column: String) -> String {
        either(sqlite: "group_concat(\(column), '\n')", postgreSQL: "string_agg(\(column), E'\\n')")
    }
}
