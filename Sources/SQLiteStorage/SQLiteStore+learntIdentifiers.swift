package import Storage
import Foundation
import GRDB
import SQLiteFiles
package import AppStoreTypes

/// The customer identifiers of receipts that contain no purchase, as Apple returned them once.
extension SQLiteStore {
    /// Maximum number of receipts that are stored of one customer.
    private static let receiptsPerCustomer = 8

    /// Creates the index for finding the receipts of one customer. Deletes the rows of earlier versions: they have
    /// digests of whole containers, which no lookup uses any more.
    static func addLearntByOriginals(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM learntIdentifiers;
                CREATE INDEX learntByOriginals ON learntIdentifiers (originals, learntAt);
                """)
    }

    /// Stores the customer identifiers of a receipt. At most ``receiptsPerCustomer`` receipts of one customer are
    /// stored; the oldest are deleted.
    ///
    /// - Parameter receipt: a digest of the receipt.
    package func saveIdentifiers(_ keys: CustomerIdentifiers, of receipt: [UInt8], at now: Timestamp)
        async throws(StorageError)
    {
        let (originals, others) = (Self.text(keys.originalTransactionIds), Self.text(keys.transactionIds))
        try await write { db in
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO learntIdentifiers VALUES (?, ?, ?, ?)").execute(
                arguments: [Data(receipt), now.milliseconds, originals, others])
            try db.cachedStatement(
                sql: """
                    DELETE FROM learntIdentifiers WHERE receipt IN (
                        SELECT receipt FROM learntIdentifiers
                        WHERE originals = ? AND others = ? AND receipt <> ?
                        ORDER BY learntAt DESC LIMIT -1 OFFSET \(Self.receiptsPerCustomer - 1))
                    """
            ).execute(arguments: [originals, others, Data(receipt)])
        }
    }

    /// Returns the latest identifiers, oldest first.
    package func customerIdentifiersByReceipt(
        limit: Int
    ) async throws(StorageError) -> [(receipt: [UInt8], keys: CustomerIdentifiers)] {
        try await read { db in
            let rows = try db.rows(
                "SELECT receipt, originals, others FROM learntIdentifiers ORDER BY learntAt DESC LIMIT ?", [limit])
            return try self.intact(rows.reversed()) { (try $0.bytes(0), try Self.identifiers($0, 1, 2)) }
        }
    }

    package func customerIdentifiers(of receipt: [UInt8]) async throws(StorageError) -> CustomerIdentifiers? {
        try await read { db in
            try db.row("SELECT originals, others FROM learntIdentifiers WHERE receipt = ?", [Data(receipt)]).map {
                try Self.identifiers($0, 0, 1)
            }
        }
    }

    private static func text(_ identifiers: [TransactionIdentifier]) -> String {
        identifiers.map(\.rawValue).joined(separator: " ")
    }

    private static func identifiers(
        _ row: SQLiteRow, _ originals: Int, _ others: Int
    ) throws(DamagedValue) -> CustomerIdentifiers {
        CustomerIdentifiers(
            originalTransactionIds: try row.text(originals).split(separator: " ").map(String.init),
            transactionIds: try row.text(others).split(separator: " ").map(String.init))
    }
}
