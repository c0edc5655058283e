package import ReceiptBridgeBase

/// Which apps know an identifier.
extension CustomerStore {
    /// Returns the apps with a record of a purchase or a download, in any environment if none is named.
    package func apps(
        with identifier: TransactionIdentifier, in environment: AppStoreEnvironment?
    ) async throws(StorageError) -> [BundleIdentifier] {
        // Each part has its own index.
        let parts = ["transactionId", "originalTransactionId", "appTransactionId"].map {
            "EXISTS (SELECT 1 FROM transactionRecord WHERE \($0) = $1 AND app = app.id)"
        }
        return try await apps(
            SQLStatement(
                """
                SELECT DISTINCT bundleId FROM app
                WHERE ($2 = '' OR environment = $2) AND (\(parts.joined(separator: " OR ")))
                """, .text(identifier.rawValue), .text(environment?.rawValue ?? "")))
    }

    /// Returns apps that have one of the newest transactions in common; none if no two have.
    package func appsWithSharedIdentifiers() async throws(StorageError) -> [BundleIdentifier] {
        try await apps(SQLStatement(SharedIdentifiers.query))
    }

    package func newestIdentifiers(
        limit: Int
    ) async throws(StorageError) -> [(identifier: TransactionIdentifier, scope: AppScope)] {
        try await read(
            SQLStatement(
                """
                SELECT transactionId, bundleId, environment FROM transactionRecord
                JOIN app ON app.id = transactionRecord.app ORDER BY transactionRecord.id DESC LIMIT \(limit)
                """)
        ) { (row) throws(StorageError) in
            guard let id = TransactionIdentifier(rawValue: try row.text(0)), let scope = try row.scope(1, 2) else {
                return nil
            }
            return (id, scope)
        }
    }

    private func apps(_ statement: SQLStatement) async throws(StorageError) -> [BundleIdentifier] {
        try await read(statement) { (row) throws(StorageError) in BundleIdentifier(rawValue: try row.text(0)) }
    }
}

/// Transaction ids that several apps have. The App Store gives each id to one app, but a test environment may not.
package enum SharedIdentifiers {
    /// The SQL that returns the bundle ids of apps with an id in common, of the newest 1,000 transactions.
    package static let query = """
        SELECT DISTINCT app.bundleId FROM (
            SELECT transactionId, bundleId FROM transactionRecord JOIN app ON app.id = transactionRecord.app
            ORDER BY transactionRecord.id DESC LIMIT 1000
        ) AS recent
        JOIN transactionRecord AS other ON other.transactionId = recent.transactionId
        JOIN app AS others ON others.id = other.app AND others.bundleId <> recent.bundleId
        JOIN app ON app.bundleId IN (recent.bundleId, others.bundleId)
        ORDER BY app.bundleId
        """
}
