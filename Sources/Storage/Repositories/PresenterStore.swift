package import ReceiptBridgeBase

/// Which user presented a purchase first, for replay detection.
package protocol PresenterStore: SQLEngine {}

extension PresenterStore {
    /// Returns the first presenter of each of these purchases that has one. If no other user has presented any of them,
    /// purchases without a presenter are assigned to this one, a digest of the user's name; `nil` assigns nothing. The
    /// purchases are original transaction ids, and ids of app transactions.
    package func presenters(
        of purchases: [TransactionIdentifier], in scope: AppScope, claimingFor presenter: [UInt8]?, at now: Timestamp
    ) async throws(StorageError) -> [TransactionIdentifier: [UInt8]] {
        guard !purchases.isEmpty else { return [:] }
        let app = try await appID(of: scope)
        // Inserted in ascending order, so that two servers do not wait for each other.
        let ids = Set(purchases.map(\.rawValue)).sorted()
        let find = SQLStatement(
            """
            SELECT originalTransactionId, presenter FROM presenter
            WHERE app = $1 AND \(dialect.isAny("originalTransactionId", "$2"))
            """, .integer(app), .texts(ids))
        @Sendable func found(_ row: Row) throws(StorageError) -> (TransactionIdentifier, [UInt8])? {
            guard let id = TransactionIdentifier(rawValue: try row.text(0)) else { return nil }
            return (id, try row.bytes(1))
        }
        // In a damaged file a key can come again.
        let known = Dictionary(try await read(find, found)) { first, _ in first }
        // The writer is needed only if there is something to assign.
        guard let presenter, known.count < ids.count, known.values.allSatisfy({ $0 == presenter }) else { return known }
        let claim = SQLStatement(
            """
            INSERT INTO presenter (app, originalTransactionId, presenter, seenAt)
            SELECT $1, wanted.id, $3, $4 FROM \(dialect.rows([("id", "$2")], as: "wanted"))
            WHERE NOT EXISTS (
                SELECT 1 FROM presenter AS other
                WHERE \(dialect.isAny("other.originalTransactionId", "$2")) AND other.app = $1
                    AND other.presenter <> $3)
            ORDER BY wanted.id ON CONFLICT (originalTransactionId, app) DO NOTHING
            """, .integer(app), .texts(ids), .bytes(presenter), SQLValue(now))
        return Dictionary(try await write([claim, find], found)) { first, _ in first }
    }
}
