import ReceiptBridgeBase
package import ReceiptBridgeStorage

extension RevocationStore {
    /// Returns the revocations of an app, ascending by transaction id.
    package func revoked(in scope: AppScope) async throws(StorageError) -> [RevocationRow] {
        try await revokedPurchases(after: .start).rows.filter { $0.scope == scope }.map(\.row)
    }
}
