import Foundation
import GRDB

/// A customer of one app as the rows of a migration tell of one: all identifiers that were ever seen together in authentic
/// rows, or those of one that is not.
package struct MigrationCustomer: Sendable {
    package let key: Int64
    package let bundleId: String
    /// As the receipts say; where the customer was found, once that is known.
    package let environment: String
    /// Sorted as text.
    package let identifiers: [String]
    /// The account token of the customer's rows; nil where they have none, or not the same.
    package let accountToken: String?
    /// Of the last look-up, and the JSON array of its signed transactions; nil where there was none.
    package let known: (revision: String, signedTransactions: [UInt8])?
}

/// What looking a customer up came to.
package enum CustomerLookupResult: Sendable, Hashable {
    case known(CustomerColumns)
    /// In neither environment.
    case notFound(reason: String)
    /// For now.
    case failed(reason: String)
}

/// What the Server API says of a customer, as it goes into the result rows: each of the three a JSON array.
package struct CustomerColumns: Sendable, Hashable {
    package var environment: String
    package var appAppleId: Int64?
    package var transactions: [UInt8]
    package var subscriptions: [UInt8]
    package var signedTransactions: [UInt8]
    package var revision: String?
    /// All identifiers in it: whoever has one of them is the same customer.
    package var identifiers: [String]

    package init(
        environment: String, appAppleId: Int64?, transactions: [UInt8], subscriptions: [UInt8],
        signedTransactions: [UInt8], revision: String?, identifiers: [String]
    ) {
        self.environment = environment
        self.appAppleId = appAppleId
        self.transactions = transactions
        self.subscriptions = subscriptions
        self.signedTransactions = signedTransactions
        self.revision = revision
        self.identifiers = identifiers
    }
}

/// Where customers stand.
package struct CustomerTally: Sendable, Hashable, Codable {
    package var waiting: Int64 = 0
    package var known: Int64 = 0
    package var notFound: Int64 = 0
    package var failed: Int64 = 0

    package init() {}

    package var all: Int64 { waiting + known + notFound + failed }
}

extension MigrationStore {
    private enum State: Int64 {
        case waiting = 0
        case known, notFound, failed
    }

    /// Apps with an environment each, by numbers: every one of them has hourly limits of its own.
    package func scopes() throws(StorageError) -> [Int64] {
        try read { try Int64.fetchAll($0, sql: "SELECT key FROM scope ORDER BY key") }
    }

    /// Who is still to be asked about, in the order of keys.
    package func waitingCustomers(
        in scope: Int64, after key: Int64, limit: Int
    ) throws(StorageError) -> [MigrationCustomer] {
        try customers("customer.state = 0 AND customer.scope = \(scope) AND", after: key, limit: limit)
    }

    /// False where the customer was found to be another one, or was asked about.
    package func isWaiting(_ key: Int64) throws(StorageError) -> Bool {
        try read { db in
            try Int64.fetchOne(db.cachedStatement(sql: "SELECT state FROM customer WHERE key = ?"), arguments: [key])
                == 0
        }
    }

    /// Whose account is to be tied to their purchases, and is not yet.
    package func customersWithToken(after key: Int64, limit: Int) throws(StorageError) -> [MigrationCustomer] {
        try customers("state = 1 AND tokens = 1 AND tokenState IS NULL AND", after: key, limit: limit)
    }

    package func countOfCustomersWithToken() throws(StorageError) -> Int64 {
        try read { db in
            try Int64.fetchOne(
                db, sql: "SELECT count(*) FROM customer WHERE state = 1 AND tokens = 1 AND tokenState IS NULL") ?? 0
        }
    }

    private func customers(
        _ condition: String, after key: Int64, limit: Int
    ) throws(StorageError) -> [MigrationCustomer] {
        try read { db in
            let select = try db.cachedStatement(
                sql: """
                    SELECT identifier FROM identifier WHERE customer = ? ORDER BY identifier
                    LIMIT \(Self.toldIdentifiers)
                    """)
            return try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT customer.key, bundleId, coalesce(customer.environment, scope.environment),
                        accountToken, tokens, revision, signedTransactions, claims
                        FROM customer JOIN scope ON scope.key = customer.scope
                        WHERE \(condition) customer.key > ? ORDER BY customer.key LIMIT ?
                        """), arguments: [key, limit]
            ).map { row in
                MigrationCustomer(
                    key: row[0], bundleId: row[1], environment: row[2],
                    identifiers: try self.identifiers(of: row, select),
                    accountToken: (row[4] as Int64) == 1 ? row[3] : nil, known: try self.known(of: row))
            }
        }
    }

    /// The eighth column, of a customer who is only claimed; else by the first one.
    private func identifiers(of row: Row, _ select: Statement) throws -> [String] {
        if let claims = row[7] as String? { return claims.split(separator: " ").map(String.init) }
        return try String.fetchAll(select, arguments: [row[0] as Int64])
    }

    /// The sixth and seventh column; nil where there was no look-up.
    private func known(of row: Row) throws(StorageError) -> (revision: String, signedTransactions: [UInt8])? {
        guard let revision = row[5] as String?, let data = row[6] as Data? else { return nil }
        return (revision, try written([UInt8](data), "what is known of customer \(row[0] as Int64)"))
    }

    /// What became of a customer. Whoever waits and has an identifier of this one's history is the same customer. Where
    /// asking failed, what was told before stays.
    package func note(_ finding: CustomerLookupResult, of key: Int64) throws(StorageError) {
        try write { db in
            switch finding {
            case .known(let columns):
                try db.cachedStatement(
                    sql: """
                        UPDATE customer SET state = 1, reason = NULL, environment = ?, appAppleId = ?,
                        transactions = ?, subscriptions = ?, signedTransactions = ?, revision = ? WHERE key = ?
                        """
                ).execute(arguments: [
                    columns.environment, columns.appAppleId, Data(columns.transactions), Data(columns.subscriptions),
                    Data(columns.signedTransactions), columns.revision, key,
                ])
                try self.join(columns.identifiers, to: key, in: db)
            case .notFound(let reason):
                try self.set(.notFound, reason, of: key, in: db)
                try db.cachedStatement(
                    sql: """
                        UPDATE customer SET transactions = NULL, subscriptions = NULL, signedTransactions = NULL,
                        revision = NULL WHERE key = ?
                        """
                ).execute(arguments: [key])
            case .failed(let reason): try self.set(.failed, reason, of: key, in: db)
            }
        }
    }

    private func set(_ state: State, _ reason: String, of key: Int64, in db: Database) throws {
        try db.cachedStatement(sql: "UPDATE customer SET state = ?, reason = ? WHERE key = ?").execute(
            arguments: [state.rawValue, reason, key])
    }

    /// Where asking failed for a while it is tried again.
    package func retryFailedCustomers() throws(StorageError) {
        try write { try $0.execute(sql: "UPDATE customer SET state = 0, reason = NULL WHERE state = 3") }
    }

    /// Everybody is to be asked about again, for what is new; what was told before stays until then.
    package func refreshCustomers() throws(StorageError) {
        try write {
            try $0.execute(sql: "UPDATE customer SET state = 0, reason = CASE state WHEN 2 THEN reason END")
        }
    }

    /// How many customers were known before, and could not be asked about again.
    package func staleCustomers() throws(StorageError) -> Int64 {
        try read { db in
            try Int64.fetchOne(db, sql: "SELECT count(*) FROM customer WHERE state = 3 AND transactions IS NOT NULL")
                ?? 0
        }
    }

    /// What became of tying an account to a customer's purchases.
    package func note(tokenState: String, of key: Int64) throws(StorageError) {
        try write { db in
            try db.cachedStatement(sql: "UPDATE customer SET tokenState = ? WHERE key = ?").execute(
                arguments: [tokenState, key])
        }
    }

    /// Whose account could not be tied is tried again.
    package func retryFailedTokens() throws(StorageError) {
        try write { try $0.execute(sql: "UPDATE customer SET tokenState = NULL WHERE tokenState <> 'set'") }
    }

    /// How many customers have rows with different account tokens: nobody can tell which one is meant.
    package func customersWithSeveralTokens() throws(StorageError) -> Int64 {
        try read { try Int64.fetchOne($0, sql: "SELECT count(*) FROM customer WHERE tokens > 1") ?? 0 }
    }

    package func tally() throws(StorageError) -> CustomerTally {
        try read { db in
            var tally = CustomerTally()
            for row in try Row.fetchAll(db, sql: "SELECT state, count(*) FROM customer GROUP BY state") {
                switch State(rawValue: row[0]) {
                case .waiting: tally.waiting = row[1]
                case .known: tally.known = row[1]
                case .notFound: tally.notFound = row[1]
                case .failed: tally.failed = row[1]
                case nil: break
                }
            }
            return tally
        }
    }
}
