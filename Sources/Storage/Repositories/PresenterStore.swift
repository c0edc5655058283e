package import AppStoreTypes

/// Which user presented a purchase first, for replay detection.
package protocol PresenterStore: Sendable {
    /// Returns the first presenter of each of these purchases. If no other user has presented any of them, purchases
    /// without a presenter are assigned to this one.
    ///
    /// - Parameters:
    ///   - purchases: original transaction ids, and ids of app transactions.
    ///   - presenter: a digest of the user's name; `nil` assigns nothing.
    /// - Returns: only the purchases that have a presenter.
    func presenters(
        of purchases: [TransactionIdentifier], in scope: AppScope, claimingFor presenter: [UInt8]?, at now: Timestamp
    ) async throws(StorageError) -> [TransactionIdentifier: [UInt8]]
}
