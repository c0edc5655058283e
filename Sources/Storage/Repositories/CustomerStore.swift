package import AppStoreTypes

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

/// Revoked purchases, and the customer identifiers of receipts without a purchase. Both are what verifyReceipt
/// responses reveal. The latest are loaded into memory at the start, the others are looked up.
package protocol RevocationStore: Sendable {
    /// Stores revoked purchases, and deletes the revocations of purchases that are valid again. The customers of the
    /// latter are marked for a new lookup.
    func save(revoked: [RevocationRow], valid: [String], of scope: AppScope) async throws(StorageError)

    /// Returns the latest revocations by scope.
    ///
    /// - Parameter limit: maximum number of revocations of one app and environment.
    func revocations(limit: Int) async throws(StorageError) -> [AppScope: [RevocationRow]]

    /// Returns the revocations of these purchases. Purchases that are not revoked are left out.
    ///
    /// - Parameters:
    ///   - transactionIds: transaction ids of the purchases.
    ///   - lineItems: web order line item ids of the purchases, which identify a restored purchase too.
    func revocations(
        of transactionIds: [String], lineItems: [String], in scope: AppScope
    ) async throws(StorageError) -> [RevocationRow]

    /// Returns the customer identifiers of a receipt; `nil` if none are stored.
    ///
    /// - Parameter receipt: a digest of the receipt.
    func customerIdentifiers(of receipt: [UInt8]) async throws(StorageError) -> CustomerIdentifiers?

    /// Stores the customer identifiers of a receipt. Only the latest receipts of one customer are stored.
    ///
    /// - Parameter receipt: a digest of the receipt.
    func saveIdentifiers(
        _ keys: CustomerIdentifiers, of receipt: [UInt8], at now: Timestamp
    ) async throws(StorageError)

    /// Returns the latest identifiers, oldest first.
    func customerIdentifiersByReceipt(
        limit: Int
    ) async throws(StorageError) -> [(receipt: [UInt8], keys: CustomerIdentifiers)]
}
