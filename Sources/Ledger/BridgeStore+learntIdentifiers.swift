import Foundation
import GRDB
package import StoreTypes

/// Whom receipts without a purchase belong to, as Apple once told.
extension BridgeStore {
    /// - Parameter receipt: a digest of it.
    package func keep(learnt keys: LookupKeys, of receipt: [UInt8], at now: Timestamp) async throws(LedgerError) {
        try await write { db in
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO learntIdentifiers VALUES (?, ?, ?, ?)").execute(
                arguments: [
                    Data(receipt), now.milliseconds, Self.text(keys.originalTransactionIds),
                    Self.text(keys.transactionIds),
                ])
        }
    }

    /// The latest, oldest first. Waits for the disk.
    package func learntIdentifiers(limit: Int) throws(LedgerError) -> [(receipt: [UInt8], keys: LookupKeys)] {
        try readWaiting { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT receipt, originals, others FROM learntIdentifiers ORDER BY learntAt DESC LIMIT ?",
                arguments: [limit])
            return rows.reversed().map { row in
                let keys = LookupKeys(
                    originalTransactionIds: Self.identifiers(row[1]), transactionIds: Self.identifiers(row[2]))
                return ([UInt8](row[0] as Data), keys)
            }
        }
    }

    private static func text(_ identifiers: [TransactionIdentifier]) -> String {
        identifiers.map(\.rawValue).joined(separator: " ")
    }

    private static func identifiers(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
}
