import GRDB
import Synchronization

/// How rows and customers make results.
enum ImportedResult {
    /// The outcome of a row. The data of an earlier lookup counts until a new one replaces it.
    static let outcome = """
        CASE WHEN customer.transactions IS NOT NULL THEN 'migrated' WHEN \(isNotFound) THEN 'notFound'
            WHEN customer.state = 3 THEN 'failed' ELSE imported.outcome END
        """

    static let reason = """
        CASE WHEN customer.transactions IS NULL AND (\(isNotFound) OR customer.state = 3) THEN customer.reason
            WHEN customer.transactions IS NULL AND imported.outcome = 'failed'
            THEN coalesce(imported.reason, 'notAskedYet')
            ELSE imported.reason END
        """

    static let tables =
        "importedRow AS imported LEFT JOIN importCustomer AS customer ON customer.id = imported.customer"

    private static let isNotFound = "(customer.state = 2 OR customer.state = 0 AND customer.reason IS NOT NULL)"

    /// The view `results` of PostgreSQL: a row for each row of the source.
    static let resultsView = """
        CREATE VIEW results AS
        SELECT imported.run AS migration, imported.chunk, imported.row, imported.customer, imported.rowId AS id,
            imported.digest, \(outcome) AS outcome, \(reason) AS reason, imported.kind, imported.verified,
            imported.repairs, CASE WHEN imported.digest IS NULL AND customer.transactions IS NOT NULL
                THEN customer.environment ELSE imported.environment END AS environment,
            imported.bundleId, imported.originalTransactionIds, imported.transactionIds, imported.unverifiedIds,
            customer.appAppleId, customer.transactions, customer.subscriptions, customer.signedTransactions,
            customer.revision, customer.appTransaction
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
            let found = try await read(SQLStatement("SELECT to_regclass('\(name)') IS NOT NULL")) {
                (row) throws(StorageError) in try row.boolean(0)
            }
            // Another worker may be creating it, or the user may not create views: nothing depends on them.
            if found.first == false { _ = try? await write([SQLStatement(sql)]) }
        }
    }

    /// Returns whether a database has the tables of a shared migration of version 0.1.0.
    package func hasEarlierTables() async throws(StorageError) -> Bool {
        try await read(SQLStatement("SELECT to_regclass('migrationLayout') IS NOT NULL")) {
            (row) throws(StorageError) in try row.boolean(0)
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

    /// Returns the number of rows of a shard by outcome and reason.
    package func outcomes(
        of run: Int64, _ shard: ImportShard
    ) async throws(StorageError) -> [(outcome: String, reason: String?, count: Int64)] {
        try await readSlowly(
            SQLStatement(
                """
                SELECT outcome, reason, count(*) FROM (
                    SELECT \(ImportedResult.outcome) AS outcome, \(ImportedResult.reason) AS reason
                    FROM \(ImportedResult.tables)
                    WHERE imported.run = $1 AND imported.chunk % \(shard.count) = \(shard.index)) AS found
                GROUP BY outcome, reason
                """, .integer(run))
        ) { (row) throws(StorageError) in (try row.text(0), try row.optionalText(1), try row.count(2)) }
    }
}

/// The results of an import in a file, in the order of the rows of a source that one worker reads. They are read while
/// a file is written, so these methods block.
extension SQLiteStore {
    /// Returns the next rows after one, with what the lookup found; `nil` if it is pending.
    package func importedRows(
        of run: Int64, after row: Int64, limit: Int
    ) throws(StorageError) -> [(row: ImportedRow, hasCustomer: Bool, finding: CustomerLookupResult?)] {
        try readNow(
            SQLStatement(
                """
                SELECT \(ImportedRow.columns.split(separator: ", ").map { "imported.\($0)" }.joined(separator: ", ")),
                    imported.customer, customer.state, customer.reason, customer.environment, customer.appAppleId,
                    customer.transactions, customer.subscriptions, customer.signedTransactions, customer.revision,
                    customer.appTransaction
                FROM \(ImportedResult.tables)
                WHERE imported.run = $1 AND imported.chunk = 0 AND imported.row > $2 ORDER BY imported.row LIMIT $3
                """, .integer(run), .integer(row), .integer(Int64(limit)))
        ) { (row) throws(StorageError) in
            (try ImportedRow(row, from: 0), try row.number(18) != nil, try Self.finding(in: row, from: 19))
        }
    }

    /// Returns the next refused rows after one.
    package func refusedRows(of run: Int64, after row: Int64, limit: Int) throws(StorageError) -> [ImportedRow] {
        try readNow(
            SQLStatement(
                """
                SELECT \(ImportedRow.columns) FROM importedRow
                WHERE run = $1 AND chunk = 0 AND outcome = 'refused' AND row > $2 ORDER BY row LIMIT $3
                """, .integer(run), .integer(row), .integer(Int64(limit)))
        ) { (row) throws(StorageError) in try ImportedRow(row, from: 0) }
    }

    /// Returns the ids of the next rows after one, with the numbers of the rows.
    package func importedIds(of run: Int64, after row: Int64) throws(StorageError) -> [(row: Int64, id: String)] {
        try readNow(
            SQLStatement(
                "SELECT row, rowId FROM importedRow WHERE run = $1 AND chunk = 0 AND row > $2 ORDER BY row LIMIT 1000",
                .integer(run), .integer(row))
        ) { (row) throws(StorageError) in (try row.rowID(0), try row.text(1)) }
    }

    private static func finding(in row: Row, from column: Int) throws(StorageError) -> CustomerLookupResult? {
        func bytes(_ column: Int) throws(StorageError) -> [UInt8]? {
            guard let text = try row.optionalText(column) else { return nil }
            // A damaged page of zeros must not get into a result.
            guard !text.utf8.contains(0) else { throw row.damage(column) }
            return Array(text.utf8)
        }
        // While a new lookup is pending, the previous result counts.
        if let transactions = try bytes(column + 4) {
            return .known(
                CustomerColumns(
                    environment: try row.optionalText(column + 2) ?? "",
                    APIColumns(
                        appAppleId: try row.optionalInteger(column + 3), transactions: transactions,
                        subscriptions: try bytes(column + 5) ?? [], signedTransactions: try bytes(column + 6) ?? [],
                        revision: try row.optionalText(column + 7), appTransaction: try bytes(column + 8))))
        }
        let reason = try row.optionalText(column + 1)
        switch try row.optionalInteger(column).flatMap(ImportState.init(rawValue:)) {
        case .waiting: return reason.map { CustomerLookupResult.notFound(reason: $0) }
        case .notFound: return .notFound(reason: reason ?? "")
        case .failed: return .failed(reason: reason ?? "")
        case .known, nil: return nil
        }
    }

    private func readNow<Value>(
        _ statement: SQLStatement, _ decode: (Row) throws(StorageError) -> Value
    ) throws(StorageError) -> [Value] {
        guard let pool = state.withLock({ $0.open?.pool }) else {
            throw StorageError(.notOpen, at: path, "the store is not open")
        }
        return try asStorageError(at: path) {
            try pool.read { db in try self.rows(of: statement, in: db).map { try decode($0) } }
        }
    }
}
