import Foundation
import GRDB
package import Storage

/// The progress file of a migration: the checkpoint, the refused rows and, with the Server API, the rows and customers
/// in progress.
package typealias MigrationStore = ProgressFile

/// Identity of customers: authentic rows that share an identifier belong to the same customer.
extension MigrationStore {
    /// Maximum number of identifiers that are loaded for the lookup of one customer.
    static let maximumIdentifiers = 200

    /// Returns the customer with these identifiers. If several customers have one of them, they are merged into one.
    ///
    /// - Parameter identifiers: those of an authentic row; not empty.
    package func customer(
        of identifiers: [String], bundleId: String, environment: String, accountToken: String?
    ) throws(StorageError) -> Int64 {
        try write { db in
            let scope = try self.scope(bundleId, environment, in: db)
            var found: Set<Int64> = []
            var gained: [String] = []
            for identifier in identifiers {
                let owner = try db.integer(
                    "SELECT customer FROM identifier WHERE scope = ? AND identifier = ?", [scope, identifier])
                if let owner {
                    found.insert(owner)
                } else {
                    gained.append(identifier)
                }
            }
            let key: Int64
            if let survivor = try self.survivor(of: found, in: db) {
                key = survivor
            } else {
                try db.cachedStatement(sql: "INSERT INTO customer (scope) VALUES (?)").execute(arguments: [scope])
                key = db.lastInsertedRowID
            }
            let insert = try db.cachedStatement(sql: "INSERT OR IGNORE INTO identifier VALUES (?, ?, ?)")
            for identifier in gained { try insert.execute(arguments: [scope, identifier, key]) }
            for other in found where other != key {
                gained += try db.texts("SELECT identifier FROM identifier WHERE customer = ?", [other])
                try self.merge(other, into: key, in: db)
            }
            if !found.isEmpty { try self.requestLookup(about: key, with: gained, in: db) }
            if let accountToken { try self.record(accountToken, tokens: 1, of: key, in: db) }
            return key
        }
    }

    /// Returns the customer of a row that is not authentic, so that anyone could have written its identifiers.
    ///
    /// The identifiers never merge two customers and are never assigned to another customer, and no account token is
    /// set on the purchases. Another such row belongs to the same customer only if it has exactly the same
    /// identifiers.
    ///
    /// - Parameter identifiers: not empty, and without spaces.
    package func claimedCustomer(
        of identifiers: [String], bundleId: String, environment: String
    ) throws(StorageError) -> Int64 {
        let claims = Set(identifiers).sorted().prefix(Self.maximumIdentifiers).joined(separator: " ")
        return try write { db in
            try db.key(in: "customer", [("scope", self.scope(bundleId, environment, in: db)), ("claims", claims)])
        }
    }

    /// Returns the customer of an authentic row without transaction ids that names the customer's download of the app.
    /// It has no identifiers, so it is never merged with another one.
    package func customer(
        ofDownload appTransactionId: String, bundleId: String, environment: String
    ) throws(StorageError) -> Int64 {
        try write { db in
            let scope = try self.scope(bundleId, environment, in: db)
            return try db.key(in: "customer", [("scope", scope), ("appTransactionId", appTransactionId)])
        }
    }

    /// Returns the key of an app in one environment. Inserts a missing row.
    private func scope(_ bundleId: String, _ environment: String, in db: Database) throws -> Int64 {
        try db.key(in: "scope", [("bundleId", bundleId), ("environment", environment)])
    }

    /// Returns the customer whose state and data stay after a merge: the one with the smallest key that has data,
    /// otherwise the one with the smallest key; `nil` if the set is empty.
    private func survivor(of keys: Set<Int64>, in db: Database) throws -> Int64? {
        guard keys.count > 1 else { return keys.first }
        let withData = try keys.filter {
            try db.exists("SELECT 1 FROM customer WHERE key = ? AND transactions IS NOT NULL", [$0])
        }
        return withData.min() ?? keys.min()
    }

    /// Queues a customer for a new lookup if it gains an identifier that is not in its history. Its data stays until
    /// then.
    private func requestLookup(about key: Int64, with gained: [String], in db: Database) throws {
        // A history is JSON, and the ids in it are strings, so a quoted id is searched.
        let update = try db.cachedStatement(
            sql: """
                UPDATE customer SET state = 0, reason = NULL
                WHERE key = ? AND (state <> 0 OR reason IS NOT NULL) AND ifnull(instr(transactions, ?), 0) = 0
                """)
        for identifier in gained { try update.execute(arguments: [key, Data("\"\(identifier)\"".utf8)]) }
    }

    /// Moves the identifiers, staged rows and account token of a customer to another one, and deletes it.
    private func merge(_ other: Int64, into key: Int64, in db: Database) throws {
        for table in ["identifier", "staged"] {
            try db.cachedStatement(sql: "UPDATE \(table) SET customer = ? WHERE customer = ?").execute(
                arguments: [key, other])
        }
        if let row = try db.row("SELECT accountToken, tokens FROM customer WHERE key = ?", [other]),
            let token = try row.optionalText(0)
        {
            try record(token, tokens: try row.integer(1), of: key, in: db)
        }
        try db.cachedStatement(sql: "DELETE FROM customer WHERE key = ?").execute(arguments: [other])
    }

    /// Records an account token. Tokens are compared case-insensitively, as UUIDs are. Two different tokens count as
    /// no token.
    private func record(_ accountToken: String, tokens: Int64, of key: Int64, in db: Database) throws {
        try db.cachedStatement(
            sql: """
                UPDATE customer SET tokens = CASE
                    WHEN tokens = 0 THEN ?2 WHEN lower(accountToken) = lower(?1) THEN max(tokens, ?2) ELSE 2 END,
                    accountToken = coalesce(accountToken, ?1) WHERE key = ?3
                """
        ).execute(arguments: [accountToken, tokens, key])
    }

    /// Merges pending customers with one of these identifiers into this customer, unless this customer comes from a
    /// row that is not authentic; and those of rows that name one of these identifiers and no other one.
    ///
    /// - Returns: Whether there was one.
    func join(_ identifiers: [String], to key: Int64, in db: Database) throws -> Bool {
        var count = 0
        for identifier in identifiers {
            let other = try db.integer(
                """
                SELECT customer.key FROM identifier JOIN customer ON customer.key = identifier.customer
                WHERE identifier.scope = (SELECT scope FROM customer WHERE key = ?1 AND claims IS NULL)
                AND identifier.identifier = ?2 AND customer.state = 0 AND customer.key <> ?1
                """, [key, identifier])
            if let other {
                try merge(other, into: key, in: db)
                count += 1
            }
        }
        if try db.exists("SELECT 1 FROM customer WHERE claims IS NOT NULL") {
            for identifier in identifiers { count += try joinClaim(of: identifier, to: key, in: db) }
        }
        return count > 0
    }

    /// Merges the pending customer of rows that name this identifier and no other one, without a proof: a lookup would
    /// find the same history. A customer of rows that name several ones is not merged, because they may be those of
    /// several customers.
    ///
    /// - Returns: The number of merged customers.
    private func joinClaim(of identifier: String, to key: Int64, in db: Database) throws -> Int {
        let others = try db.integers(
            """
            SELECT other.key FROM customer JOIN scope ON scope.key = customer.scope
            JOIN scope otherScope ON otherScope.bundleId = scope.bundleId
            JOIN customer other ON other.scope = otherScope.key AND other.claims = ?2
            WHERE customer.key = ?1 AND ifnull(instr(customer.claims, ' '), 0) = 0
            AND other.state = 0 AND other.key <> ?1
            """, [key, identifier])
        for other in others { try merge(other, into: key, in: db) }
        return others.count
    }
}

extension Database {
    /// Returns the key of the row with these values. Inserts a missing row.
    func key(in table: String, _ columns: [(name: String, value: (any DatabaseValueConvertible)?)]) throws -> Int64 {
        let arguments = StatementArguments(columns.map(\.value))
        let condition = columns.map { "\($0.name) = ?" }.joined(separator: " AND ")
        if let key = try integer("SELECT key FROM \(table) WHERE \(condition)", arguments) { return key }
        let (names, marks) = (columns.map(\.name).joined(separator: ", "), columns.map { _ in "?" })
        try cachedStatement(sql: "INSERT INTO \(table) (\(names)) VALUES (\(marks.joined(separator: ", ")))").execute(
            arguments: arguments)
        return lastInsertedRowID
    }
}
