import GRDB
import Synchronization

/// How rows and customers make results.
enum ImportedResult {
    /// The outcome of a row. The data of an earlier lookup counts until a new one replaces it.
    ///
    /// - Parameter isComplete: a row whose customer waits for its lookup has failed, otherwise it is as it was decoded.
    static func outcome(isComplete: Bool = false) -> String {
        """
        CASE WHEN customer.transactions IS NOT NULL THEN 'migrated' WHEN \(isNotFound) THEN 'notFound'
            WHEN customer.state = 3 \(isComplete ? "OR imported.customer IS NOT NULL" : "") THEN 'failed'
            ELSE imported.outcome END
        """
    }

    static func reason(isComplete: Bool = false) -> String {
        """
        CASE WHEN customer.transactions IS NOT NULL THEN imported.reason
            WHEN \(isNotFound) OR customer.state = 3 THEN customer.reason
            \(isComplete ? "WHEN imported.customer IS NOT NULL THEN 'notAskedYet'" : "")
            WHEN imported.outcome = 'failed' THEN coalesce(imported.reason, 'notAskedYet')
            ELSE imported.reason END
        """
    }

    /// The values of a result, in the order of its columns.
    static func columns(isComplete: Bool = false) -> String {
        """
        imported.digest, \(outcome(isComplete: isComplete)) AS outcome, \(reason(isComplete: isComplete)) AS reason,
            imported.kind, imported.verified, imported.repairs,
            CASE WHEN imported.digest IS NULL AND customer.transactions IS NOT NULL
                THEN customer.environment ELSE imported.environment END AS environment,
            imported.bundleId, imported.originalTransactionIds, imported.transactionIds, imported.unverifiedIds,
            customer.appAppleId, customer.transactions, customer.subscriptions, customer.signedTransactions,
            customer.revision, customer.appTransaction
        """
    }

    static let tables =
        "importedRow AS imported LEFT JOIN importCustomer AS customer ON customer.id = imported.customer"

    private static let isNotFound = "(customer.state = 2 OR customer.state = 0 AND customer.reason IS NOT NULL)"

    /// The view `results` of PostgreSQL: a row for each row of the source.
    static let resultsView = """
        CREATE VIEW results AS
        SELECT imported.run AS migration, imported.chunk, imported.row, imported.customer, imported.rowId AS id,
            \(columns())
        FROM \(tables)
        """

    /// The view `customers` of PostgreSQL: a row for each customer. Until all chunks have ended, a customer can have
    /// several rows.
    static let customersView = """
        CREATE VIEW customers AS
        SELECT customer.run AS migration, customer.id AS customer, customer.bundleId,
            coalesce(customer.environment, customer.receiptEnvironment) AS environment,
            CASE customer.state WHEN 1 THEN 'migrated' WHEN 2 THEN 'notFound' WHEN 3 THEN 'failed' ELSE 'decoded'
                END AS outcome,
            customer.reason,
            (SELECT coalesce(json_agg(identifier ORDER BY identifier), '[]')::text FROM importIdentifier
                WHERE importIdentifier.customer = customer.id AND identifier !~ '^[a-z]+:') AS identifiers,
            (SELECT count(*) FROM importedRow WHERE importedRow.customer = customer.id) AS rows,
            nullif(customer.expires, 0) AS expiresDate, customer.appAppleId, customer.transactions,
            customer.subscriptions, customer.signedTransactions, customer.revision, customer.appTransaction
        FROM importCustomer AS customer
        """
}

extension ImportStore {
    /// Creates views of a database, unless there are relations of these names: the views, or tables of another program,
    /// which stay.
    ///
    /// - Parameter views: statements by the names of the views, in addition to `results` and `customers`.
    package func createViews(_ views: [(name: String, sql: String)]) async throws(StorageError) {
        let own = [("results", ImportedResult.resultsView), ("customers", ImportedResult.customersView)]
        for (name, sql) in own + views {
            // Another worker may be creating it, or the user may not create views: nothing depends on them.
            if try await !exists(name) { _ = try? await write([SQLStatement(sql)]) }
        }
    }

    /// Returns whether a database has the tables of a shared migration of version 0.1.0.
    package func hasEarlierTables() async throws(StorageError) -> Bool { try await exists("migrationLayout") }

    private func exists(_ table: String) async throws(StorageError) -> Bool {
        try await read(SQLStatement("SELECT \(dialect.exists(table: table))")) { (row) throws(StorageError) in
            try row.boolean(0)
        }.first ?? false
    }

    /// Deletes the tables of shared migrations of version 0.1.0.
    package func removeEarlierTables() async throws(StorageError) {
        let tables = [
            "results", "migrationLayout", "migration", "migrationLease", "migrationChunk", "migrationScope",
            "migrationCustomer", "migrationIdentifier", "migrationAlias",
        ]
        try await writeSlowly(
            tables.map { SQLStatement("DROP TABLE IF EXISTS \($0) CASCADE") }
                + [SQLStatement("DROP SEQUENCE IF EXISTS migrationCustomerKey")])
    }

    /// Returns the number of rows of a shard.
    package func countOfRows(of run: Int64, _ shard: ImportShard) async throws(StorageError) -> Int64 {
        try await readSlowly(
            SQLStatement(
                "SELECT count(*) FROM importedRow WHERE run = $1 AND chunk % \(shard.count) = \(shard.index)",
                .integer(run))
        ) { (row) throws(StorageError) in try row.count(0) as Int64 }.first ?? 0
    }

    /// Returns the number of rows of a shard by outcome and reason.
    package func outcomes(
        of run: Int64, _ shard: ImportShard
    ) async throws(StorageError) -> [(outcome: String, reason: String?, count: Int64)] {
        try await readSlowly(
            SQLStatement(
                """
                SELECT outcome, reason, count(*) FROM (
                    SELECT \(ImportedResult.outcome()) AS outcome, \(ImportedResult.reason()) AS reason
                    FROM \(ImportedResult.tables)
                    WHERE imported.run = $1 AND imported.chunk % \(shard.count) = \(shard.index)) AS found
                GROUP BY outcome, reason
                """, .integer(run))
        ) { (row) throws(StorageError) in (try row.text(0), try row.optionalText(1), try row.count(2)) }
    }
}

/// What an import in a file contains, in the order of the rows of a source that one worker reads. It is read while a
/// file is written, so these methods block.
extension SQLiteStore {
    /// Returns the next results after a row: its number, id and id in the source, year and whether its app has no key,
    /// then the columns of a result.
    package func results<Value>(
        of run: Int64, after row: Int64, _ decode: (Row) throws(StorageError) -> Value
    ) throws(StorageError) -> [Value] {
        try imported(
            """
            SELECT imported.row, imported.rowId, imported.sourceId, imported.year, imported.lacksKey,
                \(ImportedResult.columns(isComplete: true))
            FROM \(ImportedResult.tables)
            WHERE imported.run = $1 AND imported.chunk = 0 AND imported.row > $2 ORDER BY imported.row LIMIT 64
            """, run, row, decode)
    }

    /// Returns the next refused rows after one: number, id, code, place and reason.
    package func refusedRows<Value>(
        of run: Int64, after row: Int64, limit: Int, _ decode: (Row) throws(StorageError) -> Value
    ) throws(StorageError) -> [Value] {
        try imported(
            """
            SELECT row, rowId, coalesce(reason, ''), coalesce(place, ''), coalesce(explanation, '') FROM importedRow
            WHERE run = $1 AND chunk = 0 AND outcome = 'refused' AND row > $2 ORDER BY row LIMIT \(limit)
            """, run, row, decode)
    }

    /// Returns the ids of the next rows after one, with the numbers of the rows.
    package func importedIds(of run: Int64, after row: Int64) throws(StorageError) -> [(row: Int64, id: String)] {
        try imported(
            "SELECT row, rowId FROM importedRow WHERE run = $1 AND chunk = 0 AND row > $2 ORDER BY row LIMIT 1000", run,
            row
        ) { (row) throws(StorageError) in (try row.rowID(0), try row.text(1)) }
    }

    private func imported<Value>(
        _ sql: String, _ run: Int64, _ row: Int64, _ decode: (Row) throws(StorageError) -> Value
    ) throws(StorageError) -> [Value] {
        guard let pool = state.withLock({ $0.open?.pool }) else {
            throw StorageError(.notOpen, at: path, "the store is not open")
        }
        return try asStorageError(at: path) {
            try pool.read { db in
                try self.rows(of: SQLStatement(sql, .integer(run), .integer(row)), in: db).map { try decode($0) }
            }
        }
    }
}
