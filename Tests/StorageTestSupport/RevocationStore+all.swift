import Base
package import Storage

extension RevocationStore {
    /// Returns the revocations of an app, ascending by transaction id.
    package func revoked(in scope: AppScope) async throws(StorageError) -> [RevocationRow] {
        let ids = try await revokedPurchases(after: .start).purchases.filter { $0.scope == scope }.map(\.transactionId)
        return try await revocations(of: ids, lineItems: [], in: scope).sorted { $0.transactionId < $1.transactionId }
    }
}
