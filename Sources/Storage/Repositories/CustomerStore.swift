package import Base

/// Customers and their signed records.
package protocol CustomerStore: Sendable {
    /// Stores the complete history of one customer. Records that were signed later than the history's stay unchanged.
    ///
    /// - Parameters:
    ///   - source: why the customer was looked up. It becomes part of the event.
    ///   - targetKeys: the targets to which what differed is forwarded, see ``CustomerReport``.
    /// - Returns: whether the history differed from the stored records. Always `false` if no events are recorded,
    ///   except for the source `reconcile`.
    @discardableResult
    func save(
        _ customer: CustomerRow, of scope: AppScope, source: EventSource, reportingTo targetKeys: [ForwardingTargetKey]
    ) async throws(StorageError) -> Bool

    /// Returns the customer that has all these identifiers.
    ///
    /// - Returns: `nil` if the customer's complete history is not stored, or if the identifiers belong to more than
    ///   one customer or include an unknown purchase.
    func customer(of keys: CustomerIdentifiers, in scope: AppScope) async throws(StorageError) -> StoredCustomer?

    /// Returns the most recently signed version of a transaction as compact JWS, or `nil` if there is none.
    func transaction(_ id: TransactionIdentifier, in scope: AppScope) async throws(StorageError) -> String?

    /// Returns the customers with a transaction that has this account token. A transaction whose customer is not known
    /// counts as one.
    ///
    /// - Parameter token: a UUID in lower case.
    func customers(withToken token: String, limit: Int) async throws(StorageError) -> [TokenCustomer]

    /// Returns transactions whose account token is not stored separately, because an earlier version stored them.
    func transactionsWithoutToken(limit: Int) async throws(StorageError) -> [(id: Int64, text: String)]

    /// Stores the account tokens of such transactions; an empty text for a transaction without one.
    func addTokens(_ tokens: [(id: Int64, token: String)]) async throws(StorageError)

    /// Returns those identifiers that occur in a record of the app, each with the environment of the record.
    func recordedIdentifiers(
        _ identifiers: [TransactionIdentifier], of bundleId: BundleIdentifier
    ) async throws(StorageError) -> [(identifier: TransactionIdentifier, environment: AppStoreEnvironment)]

    /// Returns whether a record of one of these purchases was signed after that time. Records come from notifications
    /// and lookups.
    func hasNewerRecord(
        of originals: [String], in scope: AppScope, since: Timestamp
    ) async throws(StorageError) -> Bool
}

extension CustomerStore {
    /// Stores the history of a lookup. Nothing of it is forwarded.
    package func save(
        _ customer: CustomerRow, of scope: AppScope, source: EventSource = .lookup
    ) async throws(StorageError) {
        try await save(customer, of: scope, source: source, reportingTo: [])
    }
}

extension CustomerStore where Self: SQLEngine {
    package func transaction(
        _ id: TransactionIdentifier, in scope: AppScope
    ) async throws(StorageError) -> String? {
        try await read(
            SQLStatement(
                """
                SELECT text FROM transactionRecord JOIN app ON app.id = transactionRecord.app
                WHERE transactionId = $1 AND bundleId = $2 AND environment = $3
                """, .text(id.rawValue), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue))
        ) { (row) throws(StorageError) in try row.signedText(0) }.first
    }
}
