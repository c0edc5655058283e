package import Base
import GRDB

extension SQLiteStore: CustomerStore, RevocationStore {
    /// Returns the customer that has all these identifiers.
    ///
    /// - Returns: `nil` if the customer's complete history is not stored, or if the identifiers belong to more than
    ///   one customer or include an unknown purchase.
    package func customer(of keys: CustomerIdentifiers, in scope: AppScope) async throws(StorageError)
        -> StoredCustomer?
    {
        try await read { db in
            guard
                let app = try Self.existingAppID(of: scope, in: db),
                let id = try Self.customer(of: keys, app: app, in: db)
            else { return nil }
            return try self.customer(id, covering: keys, app: app, in: db)
        }
    }

    // MARK: - Parts

    /// Returns the first customer that one of the identifiers leads to. Only the first eight of each kind are tried:
    /// a customer that none of them leads to is not stored, or is stored as several customers.
    private static func customer(of keys: CustomerIdentifiers, app: Int64, in db: Database) throws -> Int64? {
        for identifier in keys.originalTransactionIds.prefix(8) + keys.transactionIds.prefix(8) {
            if let id = try customer(of: identifier.rawValue, app: app, in: db) { return id }
        }
        return nil
    }

    /// Returns the customer with this id if it has all the identifiers, otherwise `nil`.
    private func customer(
        _ id: Int64, covering keys: CustomerIdentifiers, app: Int64, in db: Database
    ) throws -> StoredCustomer? {
        guard
            let row = try db.row(
                "SELECT askedAt, needsLookupSince, appAppleId, revision FROM customer WHERE id = ?", [id])
        else { return nil }
        var covered = Set(try db.texts("SELECT identifier FROM companion WHERE customer = ?", [id]))
        var transactions: [String] = []
        var revoked: Set<String> = []
        try db.forEachRow(
            """
            SELECT transactionId, originalTransactionId, text, EXISTS
            (SELECT 1 FROM revocation WHERE transactionId = record.transactionId AND app = ?1)
            FROM transactionRecord AS record WHERE customer = ?2 ORDER BY place, id
            """, [app, id]
        ) { record in
            covered.insert(try record.text(0))
            covered.insert(try record.text(1))
            transactions.append(try text(record, 2, in: db))
            if try record.boolean(3) { revoked.insert(try record.text(0)) }
        }
        guard (keys.originalTransactionIds + keys.transactionIds).allSatisfy({ covered.contains($0.rawValue) }) else {
            return nil
        }
        let subscriptions = try db.rows(
            """
            SELECT originalTransactionId, status, subscriptionGroupIdentifier, renewal FROM subscription
            WHERE app = ?1 AND status IS NOT NULL AND originalTransactionId IN
            (SELECT originalTransactionId FROM transactionRecord WHERE customer = ?2) ORDER BY place, id
            """, [app, id])
        return StoredCustomer(
            askedAt: try row.timestamp(0), needsLookup: !row.isNull(1), appAppleId: try row.optionalInteger(2),
            revision: try row.optionalText(3), transactions: transactions, revokedTransactionIds: revoked,
            subscriptions: try subscriptions.map {
                StoredCustomer.Subscription(
                    originalTransactionId: try $0.text(0), status: Int(try $0.integer(1)),
                    subscriptionGroupIdentifier: try $0.optionalText(2),
                    renewal: $0.isNull(3) ? nil : try text($0, 3, in: db))
            })
    }
}
