package import ReceiptBridgeBase
import GRDB

extension SQLiteStore: CustomerStore, RevocationStore {
    package func customer(of keys: CustomerIdentifiers, in scope: AppScope) async throws(StorageError)
        -> StoredCustomer?
    {
        guard let app = try await existingAppID(of: scope) else { return nil }
        return try await read { db in
            guard let id = try Self.customer(of: keys, app: app, in: db) else { return nil }
            let parts = try CustomerPart.queries("$2", .sqlite).flatMap { query in
                let statement = SQLStatement("\(query) ORDER BY 2, 3", .integer(app), .integer(id))
                return try self.rows(of: statement, in: db).compactMap(CustomerPart.init)
            }
            return StoredCustomer(parts, covering: keys)
        }
    }

    // MARK: - Parts

    /// Returns the first customer that one of the identifiers leads to. Only the first eight of each kind are tried:
    /// a customer that none of them leads to is not stored, or is stored as several customers.
    private static func customer(of keys: CustomerIdentifiers, app: Int64, in db: Database) throws -> Int64? {
        for identifier in keys.originalTransactionIds.prefix(8) + keys.transactionIds.prefix(8) {
            if let id = try customer(of: identifier.rawValue, app: app, in: db) { return id }
        }
        return nil
    }

    static func customer(of identifier: String, app: Int64, in db: Database) throws -> Int64? {
        for column in ["originalTransactionId", "transactionId"] {
            let rows = try db.rows(
                "SELECT customer FROM transactionRecord WHERE \(column) = ? AND app = ? AND customer IS NOT NULL LIMIT 1",
                [identifier, app])
            if let found = try intact(rows, { try $0.integer(0) }).first { return found }
        }
        return nil
    }
}
