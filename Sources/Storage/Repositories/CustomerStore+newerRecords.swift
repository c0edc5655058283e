package import Base

extension CustomerStore where Self: SQLEngine {
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
        ) { (row) throws(StorageError) in try row.integer(0) }.first != nil
    }
}
