package import Base
import PostgreSQLClient
package import Storage

extension PostgreSQLStore: OrderLog {
    package func record(
        _ row: OrderLookupRow, of scope: AppScope, at now: Timestamp, limit: Int
    ) async throws(StorageError) -> Int64 {
        let app = try await appID(of: scope)
        let asked =
            try await write([
                // The slots of the purchases, so that an erasure of their customer does not miss the row.
                LockSlot.statement((row.identifiers + [row.orderId]).map { LockSlot($0, app: app) }),
                SQLStatement(
                    """
                    INSERT INTO orderLookup
                    (app, orderId, status, transactions, identifiers, asked, firstAskedAt, lastAskedAt, lastRequest)
                    VALUES ($1, $2, $3, $4, $5, 1, $6, $6, $7)
                    ON CONFLICT (orderId, app) DO UPDATE SET
                        status = excluded.status, transactions = excluded.transactions,
                        identifiers = excluded.identifiers,
                        asked = orderLookup.asked
                            + CASE WHEN orderLookup.lastRequest = excluded.lastRequest THEN 0 ELSE 1 END,
                        lastAskedAt = greatest(orderLookup.lastAskedAt, excluded.lastAskedAt),
                        lastRequest = excluded.lastRequest
                    RETURNING asked
                    """, .integer(app), .text(row.orderId), .integer(row.status), .bytes(row.transactionsJSON),
                    .text(row.identifiers.joined(separator: " ")), SQLValue(now), .integer(.random(in: 1 ... .max))),
            ]) { (row) throws(StorageError) in try row.integer(0) }.first ?? 1
        if asked == 1 { try await deleteOrders(of: app, beyond: limit) }
        return asked - 1
    }

    /// Deletes the orders of an app that were not asked for the longest.
    private func deleteOrders(of app: Int64, beyond limit: Int) async throws(StorageError) {
        try await write([
            SQLStatement(
                """
                DELETE FROM orderLookup WHERE id IN (
                    SELECT id FROM orderLookup WHERE id IN (
                        SELECT id FROM orderLookup WHERE app = $1 ORDER BY lastAskedAt DESC, id DESC OFFSET $2)
                    ORDER BY id FOR UPDATE SKIP LOCKED)
                """, .integer(app), .integer(Int64(limit)))
        ])
    }
}
