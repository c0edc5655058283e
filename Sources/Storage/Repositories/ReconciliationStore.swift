package import AppStoreTypes

/// The customers that a reconciliation asks about, and its state.
package protocol ReconciliationStore: Sendable {
    /// Returns customers with a subscription whose last known period ends in the interval, in pages and ascending by that
    /// end. Customers that were looked up at or after `begin` are left out. A customer with several such subscriptions
    /// is returned with each of them.
    ///
    /// - Parameter position: ``ReconciliationPage/next`` of the page before.
    func customers(
        endingIn interval: ReconciliationInterval, notAskedSince begin: Timestamp,
        after position: ReconciliationPage.Position
    ) async throws(StorageError) -> ReconciliationPage

    /// Returns customers that need a lookup for another reason, for example a refund, in pages. Customers that were looked
    /// up at or after `begin` are left out.
    func staleCustomers(
        notAskedSince begin: Timestamp, after position: ReconciliationPage.Position
    ) async throws(StorageError) -> ReconciliationPage

    /// Returns transactions of which the end of the period is not stored separately, because an earlier version stored
    /// them.
    func transactionsWithoutExpiry(limit: Int) async throws(StorageError) -> [(id: Int64, text: String)]

    /// Stores the ends of such transactions; `nil` for a purchase without an end.
    func addExpiries(_ expiries: [(id: Int64, expiresDate: Timestamp?)]) async throws(StorageError)

    /// Returns the last reconciliation, which may still run; `nil` if there was none.
    func lastReconciliation() async throws(StorageError) -> ReconciliationRow?

    /// Stores the state of a reconciliation, which becomes the last one.
    func save(_ reconciliation: ReconciliationRow) async throws(StorageError)
}
