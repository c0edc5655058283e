import AppStorePayloads
import AppStoreTypes
import BridgeConfiguration

extension SandboxAllowlist {
    /// Returns whether a receipt has one of the transaction ids.
    func contains(_ keys: CustomerIdentifiers) -> Bool {
        (keys.originalTransactionIds + keys.transactionIds).contains { identifiers.contains($0.rawValue) }
    }

    /// Returns whether one of the records has one of the tokens.
    func contains(_ records: CustomerRecords) -> Bool {
        records.transactions.contains { transaction in
            transaction.payload.appAccountToken.map { tokens.contains($0.lowercased()) } ?? false
        }
    }
}
