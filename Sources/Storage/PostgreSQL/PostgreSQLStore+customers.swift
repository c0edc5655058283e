package import ReceiptBridgeBase

extension PostgreSQLStore: CustomerStore, RevocationStore {
    package func customer(
        of keys: CustomerIdentifiers, in scope: AppScope
    ) async throws(StorageError) -> StoredCustomer? {
        guard let app = try await existingAppID(of: scope) else { return nil }
        // A customer that none of the first identifiers leads to is not stored, or is stored as several customers.
        let asked = (keys.originalTransactionIds.prefix(8) + keys.transactionIds.prefix(8)).map(\.rawValue)
        let parts = try await read(SQLStatement(Self.customerSQL, .integer(app), .texts(asked)), CustomerPart.init)
        return StoredCustomer(parts, covering: keys)
    }
}

// MARK: - One customer

extension PostgreSQLStore {
    /// Finds the customer that the first known of the identifiers leads to and returns its rows in one snapshot.
    fileprivate static let customerSQL = """
        WITH found AS MATERIALIZED (
            SELECT candidate.customer FROM unnest($2::text[]) WITH ORDINALITY AS wanted (identifier, position)
            CROSS JOIN LATERAL (
                (SELECT customer, 0 AS rank FROM transactionRecord
                    WHERE originalTransactionId = wanted.identifier AND app = $1 AND customer IS NOT NULL LIMIT 1)
                UNION ALL
                (SELECT customer, 1 FROM transactionRecord
                    WHERE transactionId = wanted.identifier AND app = $1 AND customer IS NOT NULL LIMIT 1)
            ) AS candidate
            ORDER BY wanted.position, candidate.rank LIMIT 1)
        \(CustomerPart.queries("(SELECT customer FROM found)", .postgreSQL).joined(separator: " UNION ALL "))
        ORDER BY 1, 2, 3
        """
}
