package import Base

/// The orders that were looked up: one row for each order of an app, with the latest answer.
package protocol OrderLog: SQLEngine {}

extension OrderLog {
    /// Stores an answer and counts the lookup.
    ///
    /// - Parameter limit: maximum number of orders of one app. Beyond it, those that were not asked for the longest
    ///   are deleted.
    /// - Returns: the number of earlier lookups of the order.
    package func record(
        _ row: OrderLookupRow, of scope: AppScope, at now: Timestamp, limit: Int = 100_000
    ) async throws(StorageError) -> Int64 {
        let app = try await appID(of: scope)
        // The slots of the purchases, so that an erasure of their customer does not miss the row.
        let locks = locks(of: row.identifiers + [row.orderId], app: app)
        // Only PostgreSQL repeats a statement after a lost connection. The number of the request tells.
        let (column, parameter, count) =
            switch dialect {
            case .sqlite: ("", "", "asked = \(dialect.count("orderLookup.asked")) + 1")
            case .postgreSQL:
                (
                    ", lastRequest", ", $7",
                    """
                    asked = \(dialect.count("orderLookup.asked"))
                        + CASE WHEN orderLookup.lastRequest = excluded.lastRequest THEN 0 ELSE 1 END,
                    lastRequest = excluded.lastRequest
                    """
                )
            }
        let save = SQLStatement(
            """
            INSERT INTO orderLookup
            (app, orderId, status, transactions, identifiers, asked, firstAskedAt, lastAskedAt\(column))
            VALUES ($1, $2, $3, $4, $5, 1, $6, $6\(parameter))
            ON CONFLICT (orderId, app) DO UPDATE SET
                status = excluded.status, transactions = excluded.transactions, identifiers = excluded.identifiers,
                lastAskedAt = \(dialect.greatest(dialect.time("orderLookup.lastAskedAt"), "excluded.lastAskedAt")), \(count)
            RETURNING asked
            """,
            [
                .integer(app), .text(row.orderId), .integer(row.status), .bytes(row.transactionsJSON),
                .text(row.identifiers.joined(separator: " ")), SQLValue(now),
            ] + (column.isEmpty ? [] : [.integer(.random(in: 1 ... .max))]))
        let asked = try await write(locks + [save]) { (row) throws(StorageError) in try row.integer(0) }.first ?? 1
        if asked == 1 { try await deleteOldest(of: app, beyond: limit) }
        return asked - 1
    }

    /// Deletes the orders of an app that were not asked for the longest.
    private func deleteOldest(of app: Int64, beyond limit: Int) async throws(StorageError) {
        try await write([
            SQLStatement(
                """
                DELETE FROM orderLookup WHERE id IN (
                    SELECT id FROM orderLookup WHERE id IN (
                        SELECT id FROM orderLookup WHERE app = $1
                        ORDER BY lastAskedAt DESC, id DESC \(dialect.offset("$2")))
                    ORDER BY id \(dialect.lockingFree))
                """, .integer(app), .integer(Int64(limit)))
        ])
    }

    /// Returns a stored order; `nil` if it was never looked up.
    package func order(_ orderId: String, in scope: AppScope) async throws(StorageError) -> StoredOrder? {
        try await read(
            SQLStatement(
                """
                SELECT status, transactions, asked, firstAskedAt, lastAskedAt
                FROM orderLookup JOIN app ON app.id = orderLookup.app
                WHERE orderId = $1 AND bundleId = $2 AND environment = $3
                """, .text(orderId), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue))
        ) { (row) throws(StorageError) in
            StoredOrder(
                orderId: orderId, status: try row.integer(0), transactionsJSON: try row.bytes(1),
                asked: try row.count(2), firstAskedAt: try row.timestamp(3), lastAskedAt: try row.timestamp(4))
        }.first
    }
}
