import Foundation
import GRDB
package import Reports
package import Storage

extension MigrationStore {
    /// Returns the row ids of the scopes, that is, of each app and environment. Each has its own hourly rate limit.
    ///
    /// - Parameter isKnown: `false` for the scopes without an environment, which are those of ids without a receipt.
    package func scopes(withEnvironment isKnown: Bool) throws(StorageError) -> [Int64] {
        try read { try $0.integers("SELECT key FROM scope WHERE (environment <> '') = ? ORDER BY key", [isKnown]) }
    }

    /// Returns the customer with this key; `nil` if it was merged into another one, or was already looked up.
    package func waitingCustomer(_ key: Int64) throws(StorageError) -> MigrationCustomer? {
        try customers("customer.state = 0 AND customer.key = \(key) AND", after: 0, limit: 1).first
    }

    /// Returns customers whose account token is not yet set on their purchases, with all of their identifiers.
    package func customersWithToken(after key: Int64, limit: Int) throws(StorageError) -> [MigrationCustomer] {
        try customers(
            "state = 1 AND tokens = 1 AND tokenState IS NULL AND", after: key, limit: limit, maximumIdentifiers: .max)
    }

    /// Returns the number of customers whose account token is not yet set on their purchases.
    func countOfCustomersWithToken() throws(StorageError) -> Int64 {
        try read { db in
            try db.integer("SELECT count(*) FROM customer WHERE state = 1 AND tokens = 1 AND tokenState IS NULL") ?? 0
        }
    }

    private func customers(
        _ condition: String, after key: Int64, limit: Int, maximumIdentifiers: Int = MigrationStore.maximumIdentifiers
    ) throws(StorageError) -> [MigrationCustomer] {
        try read { db in
            try db.rows(
                """
                SELECT customer.key, bundleId, coalesce(customer.environment, scope.environment),
                accountToken, tokens, revision, signedTransactions, claims,
                appTransactionId
                FROM customer JOIN scope ON scope.key = customer.scope
                WHERE \(condition) customer.key > ? ORDER BY customer.key LIMIT ?
                """, [key, limit]
            ).map { row in
                MigrationCustomer(
                    key: try row.integer(0), bundleId: try row.text(1), environment: try row.text(2),
                    identifiers: try Self.identifiers(of: row, limit: maximumIdentifiers, in: db),
                    appTransactionId: try row.optionalText(8),
                    accountToken: try row.integer(4) == 1 ? try row.optionalText(3) : nil,
                    previousLookup: try self.previousLookup(of: row))
            }
        }
    }

    /// Returns the identifiers in the eighth column (`claims`) if the row is not authentic, otherwise those of table
    /// `identifier`.
    private static func identifiers(of row: SQLiteRow, limit: Int, in db: Database) throws -> [String] {
        if let claims = try row.optionalText(7) { return claims.split(separator: " ").map(String.init) }
        return try db.texts(
            "SELECT identifier FROM identifier WHERE customer = ? ORDER BY identifier LIMIT ?",
            [try row.integer(0), limit])
    }

    /// Reads the sixth and seventh column; `nil` if there was no lookup.
    private func previousLookup(of row: SQLiteRow) throws -> (revision: String, signedTransactions: [UInt8])? {
        guard let revision = try row.optionalText(5), let json = try row.optionalBytes(6) else { return nil }
        return (revision, try validated(json, "the lookup result of customer \(try row.integer(0))"))
    }

    /// Records the result of a lookup. Pending customers with an identifier of this customer's history are merged
    /// into it. If the lookup failed, the data of the previous one stays.
    ///
    /// - Returns: Whether customers were merged.
    @discardableResult
    package func record(_ result: CustomerLookupResult, of key: Int64) throws(StorageError) -> Bool {
        try write { db in
            switch result {
            case .known(let columns):
                try db.cachedStatement(
                    sql: """
                        UPDATE customer SET state = 1, reason = NULL, environment = ?, appAppleId = ?,
                        transactions = ?, subscriptions = ?, signedTransactions = ?, revision = ?,
                        appTransaction = ? WHERE key = ?
                        """
                ).execute(arguments: [
                    columns.environment, columns.api.appAppleId, Data(columns.api.transactions),
                    Data(columns.api.subscriptions), Data(columns.api.signedTransactions), columns.api.revision,
                    columns.api.appTransaction.map { Data($0) }, key,
                ])
                return try self.join(columns.identifiers, to: key, in: db)
            case .notFound(let reason):
                try self.set(result.state, reason, of: key, in: db)
                try db.cachedStatement(
                    sql: """
                        UPDATE customer SET transactions = NULL, subscriptions = NULL, signedTransactions = NULL,
                        revision = NULL, appTransaction = NULL WHERE key = ?
                        """
                ).execute(arguments: [key])
            case .failed(let reason): try self.set(result.state, reason, of: key, in: db)
            }
            return false
        }
    }

    private func set(_ state: CustomerState, _ reason: String, of key: Int64, in db: Database) throws {
        try db.cachedStatement(sql: "UPDATE customer SET state = ?, reason = ? WHERE key = ?").execute(
            arguments: [state.rawValue, reason, key])
    }

    /// Queues customers whose lookup failed for a retry.
    package func retryFailedCustomers() throws(StorageError) {
        try write { try $0.execute(sql: "UPDATE customer SET state = 0, reason = NULL WHERE state = 3") }
    }

    /// Queues all customers for a new lookup, to find what changed. The data of the previous lookup stays until then.
    package func refreshCustomers() throws(StorageError) {
        try write {
            try $0.execute(sql: "UPDATE customer SET state = 0, reason = CASE state WHEN 2 THEN reason END")
        }
    }

    /// Returns the number of customers that have data of an earlier lookup and whose latest lookup failed.
    package func staleCustomers() throws(StorageError) -> Int64 {
        try read { db in
            try db.integer("SELECT count(*) FROM customer WHERE state = 3 AND transactions IS NOT NULL") ?? 0
        }
    }

    /// Records the result of setting the account token on a customer's purchases.
    package func record(tokenState: String, of key: Int64) throws(StorageError) {
        try write { db in
            try db.cachedStatement(sql: "UPDATE customer SET tokenState = ? WHERE key = ?").execute(
                arguments: [tokenState, key])
        }
    }

    /// Queues customers whose account token could not be set for a retry.
    func retryFailedTokens() throws(StorageError) {
        try write { try $0.execute(sql: "UPDATE customer SET tokenState = NULL WHERE tokenState <> 'set'") }
    }

    /// Returns the number of customers whose rows have different account tokens. No token is set for these, because
    /// the right one is unknown.
    package func customersWithSeveralTokens() throws(StorageError) -> Int64 {
        try read { try $0.integer("SELECT count(*) FROM customer WHERE tokens > 1") ?? 0 }
    }

    /// Returns the numbers of customers by state.
    package func tally() throws(StorageError) -> CustomerTally {
        try read { db in
            CustomerTally(
                try db.rows("SELECT state, count(*) FROM customer GROUP BY state").map {
                    (try $0.integer(0), try $0.integer(1))
                })
        }
    }
}
