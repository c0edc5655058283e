package import ReceiptBridgeBase

extension CustomerStore {
    /// Returns those identifiers that occur in a record of the app, each with the environment of the record.
    package func recordedIdentifiers(
        _ identifiers: [TransactionIdentifier], of bundleId: BundleIdentifier
    ) async throws(StorageError) -> [(identifier: TransactionIdentifier, environment: AppStoreEnvironment)] {
        // Each part has its own index.
        let found = try await read(
            SQLStatement(
                """
                SELECT wanted.identifier, environment
                FROM \(dialect.rows([("identifier", "$1")], as: "wanted")) JOIN app ON bundleId = $2
                WHERE EXISTS (SELECT 1 FROM transactionRecord WHERE transactionId = wanted.identifier AND app = app.id)
                OR EXISTS (
                    SELECT 1 FROM transactionRecord WHERE originalTransactionId = wanted.identifier AND app = app.id)
                ORDER BY app.id
                """, .texts(identifiers.map(\.rawValue)), .text(bundleId.rawValue))
        ) { (row) throws(StorageError) in (try row.text(0), AppStoreEnvironment(rawValue: try row.text(1))) }
        let environments = Dictionary(found) { first, _ in first }
        return identifiers.compactMap { identifier in
            environments[identifier.rawValue]?.map { (identifier, $0) }
        }
    }

    /// Returns whether a customer is still stored. One that was erased meanwhile must not be asked about.
    package func isRecorded(
        _ identifier: TransactionIdentifier, of bundleId: BundleIdentifier
    ) async throws(StorageError) -> Bool {
        try await !recordedIdentifiers([identifier], of: bundleId).isEmpty
    }

    /// Returns whether a record of one of these purchases was signed after that time. Records come from notifications
    /// and lookups.
    package func hasNewerRecord(
        of originals: [String], in scope: AppScope, since: Timestamp
    ) async throws(StorageError) -> Bool {
        try await read(
            SQLStatement(
                """
                SELECT transactionRecord.id FROM transactionRecord JOIN app ON app.id = transactionRecord.app
                WHERE \(dialect.isAny("originalTransactionId", "$1")) AND bundleId = $2 AND environment = $3
                    AND signedDate > $4
                LIMIT 1
                """, .texts(originals), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue),
                SQLValue(since))
        ) { (_) throws(StorageError) in true }.first != nil
    }
}

extension SQLEngine {
    /// The statement, after the lock of the identifier's slot, that selects a row if the app has a record with it. An
    /// erasure locks the same slot, so that what it deletes is not stored again. None without an identifier.
    func records(with identifier: TransactionIdentifier?, app: Int64) -> [SQLStatement] {
        guard let identifier else { return [] }
        let parts = ["transactionId", "originalTransactionId"].map {
            "SELECT 1 FROM transactionRecord WHERE \($0) = $1 AND app = $2"
        }
        return [
            SQLStatement(
                "\(parts.joined(separator: " UNION ALL ")) LIMIT 1", .text(identifier.rawValue), .integer(app))
        ]
    }
}
