import AppStorePayloads
import Base
import BridgeConfiguration

extension SandboxAllowlist {
    /// Returns whether a receipt has one of the transaction ids.
    func contains(_ keys: CustomerIdentifiers) -> Bool {
        (keys.originalTransactionIds + keys.transactionIds).contains { identifiers.contains($0.rawValue) }
    }

    /// Returns whether one of the records has one of the ids or tokens.
    func contains(_ records: CustomerRecords) -> Bool {
        records.transactions.contains { transaction in
            let payload = transaction.payload
            return [payload.transactionId, payload.originalTransactionId, payload.appTransactionId].contains { id in
                id.map(identifiers.contains) ?? false
            } || payload.appAccountToken.map { tokens.contains($0.lowercased()) } ?? false
        }
    }
}
