import ReceiptBridgeBase

/// An app in one environment. Each has its own rate limits.
package struct ImportScope: Sendable, Hashable {
    package let id: Int64
    package let bundleId: String
    /// `false` for ids without a receipt.
    package let hasEnvironment: Bool
}

/// The customers to be looked up. Only the worker with ``ImportTask/ask`` changes them.
extension ImportStore {
    /// Maximum number of identifiers that are loaded for the lookup of one customer.
    private static var maximumIdentifiers: Int64 { 200 }

    /// Returns the apps and environments of an import, in the order in which they were found.
    package func scopes(of run: Int64) async throws(StorageError) -> [ImportScope] {
        try await readSlowly(
            SQLStatement(
                """
                SELECT scope, bundleId, receiptEnvironment <> '' FROM importCustomer WHERE id IN (
                    SELECT min(id) FROM importCustomer WHERE run = $1 GROUP BY scope) ORDER BY id
                """, .integer(run))
        ) { (row) throws(StorageError) in
            ImportScope(id: try row.rowID(0), bundleId: try row.text(1), hasEnvironment: try row.boolean(2))
        }
    }

    /// Returns customers whose lookup is pending.
    ///
    /// - Parameters:
    ///   - isActiveFirst: those with the latest expiry dates first, otherwise in the order in which they were found.
    ///   - keys: customers to leave out.
    package func waitingCustomers(
        of run: Int64, in scope: Int64, isActiveFirst: Bool, except keys: [Int64], limit: Int = 256
    ) async throws(StorageError) -> [ImportedCustomer] {
        try await customers(
            """
            customer.scope = $4 AND customer.state = 0 AND NOT \(dialect.isAny("customer.id", "$5"))
            ORDER BY \(isActiveFirst ? "customer.expires DESC, " : "")customer.id
            """,
            [
                .integer(run), .integer(Int64(limit)), .integer(Self.maximumIdentifiers), .integer(scope),
                .integers(keys),
            ])
    }

    /// Returns customers whose account token is not yet set on their purchases, with all of their identifiers.
    package func customersWithToken(
        of run: Int64, after key: Int64, limit: Int
    ) async throws(StorageError) -> [ImportedCustomer] {
        try await customers(
            "\(Self.needsToken) AND customer.id > $4 ORDER BY customer.id",
            [.integer(run), .integer(Int64(limit)), .integer(.max), .integer(key)])
    }

    private static var needsToken: String {
        "customer.state = 1 AND customer.tokens = 1 AND customer.tokenState IS NULL"
    }

    /// - Parameter values: `$1` is the import, `$2` the maximum number of customers, `$3` that of their identifiers.
    private func customers(_ condition: String, _ values: [SQLValue]) async throws(StorageError) -> [ImportedCustomer] {
        try await read(
            SQLStatement(
                """
                SELECT customer.id, customer.scope, bundleId, coalesce(customer.environment, receiptEnvironment),
                    accountToken, tokens, revision, signedTransactions, claims, download,
                    (SELECT \(dialect.lines("identifier")) FROM (
                        SELECT identifier FROM importIdentifier WHERE importIdentifier.customer = customer.id
                        ORDER BY identifier LIMIT $3) AS own),
                    (SELECT \(dialect.lines("transactionIds")) FROM (
                        SELECT transactionIds FROM importedRow
                        WHERE importedRow.customer = customer.id AND verified LIMIT 50) AS own)
                FROM importCustomer AS customer WHERE customer.run = $1 AND \(condition) LIMIT $2
                """, values)
        ) { (row) throws(StorageError) in
            func lines(_ column: Int) throws(StorageError) -> [String] {
                try row.optionalText(column)?.split(separator: "\n").map(String.init) ?? []
            }
            let claims = try row.optionalText(8)
            let download = try row.optionalText(9)
            var previous: (revision: String, signedTransactions: [UInt8])?
            if let revision = try row.optionalText(6), let signed = try row.optionalText(7) {
                previous = (revision, Array(signed.utf8))
            }
            let known = try lines(10)
            let identifiers = claims?.split(separator: " ").map(String.init) ?? known
            let tokens: Int64 = try row.count(5)
            return ImportedCustomer(
                key: try row.rowID(0), scope: try row.rowID(1), bundleId: try row.text(2),
                environment: try row.text(3), identifiers: download == nil ? identifiers : [], isProven: claims == nil,
                transactionIds: Array(Set(try lines(11).flatMap(Self.texts))).sorted(), appTransactionId: download,
                accountToken: tokens == 1 ? try row.optionalText(4) : nil, previousLookup: previous)
        }
    }

    /// Returns the strings of a JSON array without escapes.
    private static func texts(_ json: String) -> [String] {
        json.split { !$0.isNumber && !$0.isLetter }.map(String.init)
    }

    /// Queues customers for a retry whose lookup failed before a time.
    package func retryFailedCustomers(of run: Int64, before time: Int64) async throws(StorageError) {
        try await writeSlowly([
            SQLStatement(
                "UPDATE importCustomer SET state = 0, reason = NULL WHERE run = $1 AND state = 3 AND askedAt < $2",
                .integer(run), .integer(time))
        ])
    }

    /// Queues all customers for a new lookup, to find what changed. The data of the previous lookup stays until then.
    ///
    /// - Parameter progress: stored in the same transaction.
    package func refreshCustomers(of run: Int64, progress: String) async throws(StorageError) {
        try await writeSlowly([
            SQLStatement(
                "UPDATE importCustomer SET state = 0, reason = CASE state WHEN 2 THEN reason END WHERE run = $1",
                .integer(run)),
            Self.saving(progress: progress, of: run),
        ])
    }

    /// Returns the numbers of customers in some scopes by state.
    package func tally(of run: Int64, _ scopes: [Int64]) async throws(StorageError) -> [ImportState: Int64] {
        let rows = try await readSlowly(
            SQLStatement(
                """
                SELECT state, count(*) FROM importCustomer WHERE run = $1 AND \(dialect.isAny("scope", "$2"))
                GROUP BY state
                """, .integer(run), .integers(scopes))
        ) { (row) throws(StorageError) in
            (state: try row.integer(0), count: try row.count(1) as Int64)
        }
        return rows.reduce(into: [:]) { tally, row in
            if let state = ImportState(rawValue: row.state) { tally[state, default: 0] += row.count }
        }
    }

    /// Returns whether a customer is waiting, or failed before a time.
    package func hasWaitingCustomers(
        of run: Int64, in scopes: [Int64], failedBefore time: Int64
    ) async throws(StorageError) -> Bool {
        let isInScopes = "run = $1 AND \(dialect.isAny("scope", "$2"))"
        return try await read(
            SQLStatement(
                """
                SELECT EXISTS (SELECT 1 FROM importCustomer WHERE \(isInScopes) AND state = 0)
                    OR EXISTS (SELECT 1 FROM importCustomer WHERE \(isInScopes) AND state = 3 AND askedAt < $3)
                """, .integer(run), .integers(scopes), .integer(time))
        ) { (row) throws(StorageError) in try row.boolean(0) }.first ?? false
    }

    private func count(_ condition: String, _ values: SQLValue...) async throws(StorageError) -> Int64 {
        try await readSlowly(
            SQLStatement(
                "SELECT count(*) FROM importCustomer AS customer WHERE customer.run = $1 AND \(condition)", values)
        ) { (row) throws(StorageError) in try row.count(0) as Int64 }.first ?? 0
    }

    /// Returns the number of waiting customers whose subscriptions have not expired, by their receipts.
    package func activeCustomers(of run: Int64, _ scopes: [Int64], at time: Int64) async throws(StorageError) -> Int64 {
        try await count(
            "state = 0 AND \(dialect.isAny("scope", "$2")) AND expires > $3", .integer(run), .integers(scopes),
            .integer(time))
    }

    /// Returns the number of customers that have data of an earlier lookup and whose latest lookup failed.
    package func staleCustomers(of run: Int64) async throws(StorageError) -> Int64 {
        try await count("state = 3 AND transactions IS NOT NULL", .integer(run))
    }

    /// Returns the number of customers whose account token is not yet set on their purchases.
    package func countOfCustomersWithToken(of run: Int64) async throws(StorageError) -> Int64 {
        try await count(Self.needsToken, .integer(run))
    }

    /// Returns the number of customers whose rows have different account tokens. No token is set for these, because
    /// the right one is unknown.
    package func customersWithSeveralTokens(of run: Int64) async throws(StorageError) -> Int64 {
        try await count("tokens > 1", .integer(run))
    }

    /// Records the result of setting the account token on a customer's purchases.
    package func record(tokenState: String, of key: Int64) async throws(StorageError) {
        try await write([
            SQLStatement("UPDATE importCustomer SET tokenState = $1 WHERE id = $2", .text(tokenState), .integer(key))
        ])
    }

    /// Queues customers whose account token could not be set for a retry.
    package func retryFailedTokens(of run: Int64) async throws(StorageError) {
        try await write([
            SQLStatement(
                "UPDATE importCustomer SET tokenState = NULL WHERE run = $1 AND tokenState <> 'set'", .integer(run))
        ])
    }
}
