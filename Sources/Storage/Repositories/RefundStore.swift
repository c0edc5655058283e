import ReceiptBridgeBase

/// The customers whose refund histories are read, and the refunds that were found.
package protocol RefundStore: SQLEngine {}

extension RefundStore {
    /// Returns one target for each customer, in pages. A page can be empty although others follow. Records that are
    /// known only from notifications are grouped by app transaction id, otherwise by subscription.
    ///
    /// Each page is made of a fixed number of transactions, so that the time of a statement does not depend on the size
    /// of the store. The position is ``RefundTargetPage/next`` of the page before, or 0.
    package func refundTargets(
        after position: Int64, size: Int = RefundTargetPage.size
    ) async throws(StorageError) -> RefundTargetPage {
        let rows = try await keyed(
            after: position,
            SQLStatement(
                """
                SELECT record.id, bundleId, environment, record.transactionId,
                    NOT EXISTS (
                        SELECT 1 FROM transactionRecord AS earlier
                        WHERE earlier.customer = record.customer AND earlier.id < record.id)
                    AND (record.customer IS NOT NULL OR NOT EXISTS (
                        SELECT 1 FROM transactionRecord AS earlier
                        WHERE earlier.appTransactionId = record.appTransactionId AND earlier.app = record.app
                            AND earlier.customer IS NULL AND earlier.id < record.id))
                    AND (record.customer IS NOT NULL OR record.appTransactionId IS NOT NULL OR NOT EXISTS (
                        SELECT 1 FROM transactionRecord AS earlier
                        WHERE earlier.originalTransactionId = record.originalTransactionId
                            AND earlier.app = record.app AND earlier.customer IS NULL
                            AND earlier.appTransactionId IS NULL AND earlier.id < record.id))
                FROM (
                    SELECT id, app, customer, transactionId, originalTransactionId, appTransactionId
                    FROM transactionRecord WHERE id > $1 ORDER BY id LIMIT $2
                ) AS record
                JOIN app ON app.id = record.app ORDER BY record.id
                """, .integer(position), .integer(Int64(size)))
        ) { (row) throws(StorageError) -> RefundTarget? in
            guard try row.boolean(4), let scope = try row.scope(1, 2),
                let id = TransactionIdentifier(rawValue: try row.text(3))
            else { return nil }
            return RefundTarget(scope: scope, identifier: id, position: try row.rowID(0))
        }
        let isLast = rows.count < size
        return RefundTargetPage(targets: rows.compactMap(\.value), next: isLast ? nil : rows.last?.key)
    }

    /// Returns the number of targets that ``refundTargets(after:size:)`` returns in all pages after a position. Can
    /// take minutes in a large store.
    package func countRefundTargets(after position: Int64) async throws(StorageError) -> Int {
        let counts = try await readSlowly(
            SQLStatement(
                """
                SELECT count(*) FROM (
                    SELECT min(id) AS id FROM transactionRecord
                    GROUP BY app, coalesce('c' || customer, 'd' || appTransactionId, 'o' || originalTransactionId)
                ) AS first WHERE id > $1
                """, .integer(position))
        ) { (row) throws(StorageError) -> Int? in try row.count(0) }
        return counts.first ?? 0
    }

    /// Returns what the store has of refunded transactions, by transaction id.
    package func reportedRefunds(
        of transactionIds: [String], in scope: AppScope
    ) async throws(StorageError) -> [String: ReportedRefund] {
        let rows = try await readIntact(
            SQLStatement(
                """
                SELECT transactionId, reportedRefund > 0, text FROM transactionRecord
                JOIN app ON app.id = transactionRecord.app
                WHERE \(dialect.isAny("transactionId", "$1")) AND bundleId = $2 AND environment = $3
                    AND reportedRefund IS NOT NULL
                """, .texts(transactionIds), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue))
        ) { (row) throws(StorageError) in
            (try row.text(0), ReportedRefund(isReported: try row.boolean(1), text: try? row.signedText(2)))
        }
        return Dictionary(rows) { first, _ in first }
    }
}
