package import Base

/// The orders that were looked up: one row for each order of an app, with the latest answer.
package protocol OrderLog: Sendable {
    /// Stores an answer and counts the lookup.
    ///
    /// - Parameter limit: maximum number of orders of one app. Beyond it, those that were not asked for the longest
    ///   are deleted.
    /// - Returns: the number of earlier lookups of the order.
    func record(
        _ row: OrderLookupRow, of scope: AppScope, at now: Timestamp, limit: Int
    ) async throws(StorageError) -> Int64

    /// Returns a stored order; `nil` if it was never looked up.
    func order(_ orderId: String, in scope: AppScope) async throws(StorageError) -> StoredOrder?
}

extension OrderLog {
    /// Stores an answer and counts the lookup, with at most 100,000 orders of one app.
    package func record(
        _ row: OrderLookupRow, of scope: AppScope, at now: Timestamp
    ) async throws(StorageError) -> Int64 {
        try await record(row, of: scope, at: now, limit: 100_000)
    }
}

extension OrderLog where Self: SQLEngine {
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
                asked: try row.integer(2), firstAskedAt: try row.timestamp(3), lastAskedAt: try row.timestamp(4))
        }.first
    }
}
