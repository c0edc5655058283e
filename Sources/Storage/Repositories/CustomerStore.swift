package import ReceiptBridgeBase

/// Customers and their signed records.
package protocol CustomerStore: SQLEngine {
    /// Returns the customer that has all these identifiers; `nil` if the customer's complete history is not stored, or
    /// if the identifiers belong to more than one customer or include an unknown purchase.
    func customer(of keys: CustomerIdentifiers, in scope: AppScope) async throws(StorageError) -> StoredCustomer?
}

extension CustomerStore {
    /// Returns the number of customers that a server can answer from the store.
    package func countOfCompleteCustomers() async throws(StorageError) -> Int64 {
        try await readSlowly(SQLStatement(LookupNeed.completeCustomers(at: .now))) { (row) throws(StorageError) in
            try row.count(0) as Int64
        }.first ?? 0
    }

    /// Returns the most recently signed version of a transaction as compact JWS; `nil` without one.
    package func transaction(_ id: TransactionIdentifier, in scope: AppScope) async throws(StorageError) -> String? {
        try await read(
            SQLStatement(
                """
                SELECT text FROM transactionRecord JOIN app ON app.id = transactionRecord.app
                WHERE transactionId = $1 AND bundleId = $2 AND environment = $3
                """, .text(id.rawValue), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue))
        ) { (row) throws(StorageError) in try row.signedText(0) }.first
    }
}
