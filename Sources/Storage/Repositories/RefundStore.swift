package import Base

/// Refund histories, and which refunds were reported.
package protocol RefundStore: SQLEngine {}

extension RefundStore {
    /// Returns one target for each customer, without those swept at or after that time, in pages. A page can be empty
    /// although others follow. Records that are known only from notifications are grouped by app transaction id,
    /// otherwise by subscription.
    ///
    /// Each page reads a fixed number of rows, so that the time of a statement does not depend on the size of the
    /// store.
    ///
    /// - Parameter position: ``RefundTargetPage/next`` of the page before; 0 for the first page.
    package func refundTargets(
        notSweptSince start: Timestamp, after position: Int64
    ) async throws(StorageError) -> RefundTargetPage {
        let rows = try await keyed(
            after: position,
            SQLStatement(
                """
                SELECT record.id, bundleId, environment, record.transactionId, revision,
                    coalesce(sweptAt, -1) < $1
                    AND NOT EXISTS (
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
                    FROM transactionRecord WHERE id > $2 ORDER BY id LIMIT \(RefundTargetPage.size)
                ) AS record
                JOIN app ON app.id = record.app
                LEFT JOIN refundSweep ON identifier = record.transactionId AND refundSweep.app = record.app
                ORDER BY record.id
                """, SQLValue(start), .integer(position))
        ) { (row) throws(StorageError) -> RefundTarget? in
            guard try row.boolean(5), let scope = try row.scope(1, 2),
                let id = TransactionIdentifier(rawValue: try row.text(3))
            else { return nil }
            return RefundTarget(scope: scope, identifier: id, revision: try row.optionalText(4))
        }
        let isLast = rows.count < RefundTargetPage.size
        return RefundTargetPage(targets: rows.compactMap(\.value), next: isLast ? nil : rows.last?.key)
    }

    /// Returns the number of targets that ``refundTargets(notSweptSince:after:)`` returns in all pages. Can take
    /// minutes in a large store.
    package func countRefundTargets(notSweptSince start: Timestamp) async throws(StorageError) -> Int {
        let counts = try await readSlowly(
            SQLStatement(
                """
                SELECT count(*) FROM transactionRecord
                LEFT JOIN refundSweep ON identifier = transactionId AND refundSweep.app = transactionRecord.app
                WHERE coalesce(sweptAt, -1) < $1 AND transactionRecord.id IN (
                    SELECT min(id) FROM transactionRecord
                    GROUP BY app, coalesce('c' || customer, 'd' || appTransactionId, 'o' || originalTransactionId))
                """, SQLValue(start))
        ) { (row) throws(StorageError) -> Int? in try row.count(0) }
        return counts.first ?? 0
    }

    /// Returns the target of one customer, or `nil` if it was swept at or after that time.
    /// Without a readable row the whole history is read again.
    package func refundTarget(
        _ identifier: TransactionIdentifier, in scope: AppScope, notSweptSince start: Timestamp
    ) async throws(StorageError) -> RefundTarget? {
        let swept = try await readIntact(
            SQLStatement(
                """
                SELECT revision, sweptAt FROM refundSweep JOIN app ON app.id = app
                WHERE identifier = $1 AND bundleId = $2 AND environment = $3
                """, .text(identifier.rawValue), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue))
        ) { (row) throws(StorageError) in (revision: try row.optionalText(0), at: try row.timestamp(1)) }.first
        guard let swept else { return RefundTarget(scope: scope, identifier: identifier, revision: nil) }
        guard swept.at < start else { return nil }
        return RefundTarget(scope: scope, identifier: identifier, revision: swept.revision)
    }

    /// Returns refunds that have not been reported, in the order in which they were found.
    package func unreportedRefunds(limit: Int) async throws(StorageError) -> [UnreportedRefund] {
        // The condition of the index.
        let isUntold = dialect.either(sqlite: "isTold = 0", postgreSQL: "NOT isTold")
        return try await page(after: .min, limit: limit) { id in
            SQLStatement(
                """
                SELECT refund.id, bundleId, environment, date, text FROM refund JOIN app ON app.id = refund.app
                WHERE \(isUntold) AND refund.id > $1 ORDER BY refund.id LIMIT $2
                """, .integer(id), .integer(Int64(limit)))
        } _: { (row) throws(StorageError) in
            guard let scope = try row.scope(1, 2) else { return nil }
            return UnreportedRefund(
                id: try row.rowID(0), scope: scope, date: try row.timestamp(3), text: try row.signedText(4))
        }
    }

    /// Marks refunds as reported. If they were written to a file, records the new size of the file.
    package func markReported(
        _ refunds: [UnreportedRefund], in output: (path: String, size: Int64)?
    ) async throws(StorageError) {
        let mark = SQLStatement(
            "UPDATE refund SET isTold = true WHERE \(dialect.isAny("id", "$1"))",
            .integers(refunds.map(\.id).sorted()))
        try await write([mark] + (output.map { [setSize(of: $0.path, to: $0.size)] } ?? []))
    }

    /// Records a new output file before anything is written to it. So a sweep that is killed recognizes the file as
    /// its own when it resumes.
    package func beginRefundOutput(_ path: String) async throws(StorageError) {
        try await write([setSize(of: path, to: 0)])
    }

    private func setSize(of path: String, to size: Int64) -> SQLStatement {
        SQLStatement(
            """
            INSERT INTO refundOutput (path, size) VALUES ($1, $2) ON CONFLICT (path) DO UPDATE SET size = excluded.size
            """, .text(path), .integer(size))
    }

    /// Removes the record of an output file after a completed sweep that wrote nothing. A later file at that path
    /// belongs to another program.
    package func endRefundOutput(_ path: String) async throws(StorageError) {
        try await write([SQLStatement("DELETE FROM refundOutput WHERE path = $1 AND size = 0", .text(path))])
    }

    /// Returns the recorded size of an output file in bytes, or `nil` if none is recorded.
    package func sizeOfRefundOutput(_ path: String) async throws(StorageError) -> Int64? {
        try await read(SQLStatement("SELECT size FROM refundOutput WHERE path = $1", .text(path))) {
            (row) throws(StorageError) in
            let size = try row.integer(0)
            guard size >= 0 else { throw row.damage(0) }
            return size
        }.first
    }
}
