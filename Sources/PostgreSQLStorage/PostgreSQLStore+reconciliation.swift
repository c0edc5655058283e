package import AppStoreTypes
import PostgreSQLClient
package import Storage

/// The ends of subscriptions, and the state of the last reconciliation.
extension PostgreSQLStore: ReconciliationStore {
    /// - `transactionRecord.expiresDate`: ``TransactionRow/expiresColumn``; null for a row of an earlier version.
    /// - `reconciliation`: one row, the ``ReconciliationRow`` of the last reconciliation.
    static let reconciliationStep = SchemaStep(
        "reconciliation",
        [
            "ALTER TABLE transactionRecord ADD COLUMN expiresDate bigint",
            "CREATE INDEX transactionByExpiry ON transactionRecord (expiresDate, id) WHERE expiresDate > 0",
            "CREATE INDEX transactionWithoutExpiry ON transactionRecord (id) WHERE expiresDate IS NULL",
            """
            CREATE TABLE reconciliation (
                id bigint PRIMARY KEY, startedAt bigint NOT NULL, endedAt bigint, continuesAt bigint,
                windowSeconds bigint NOT NULL, notifications bigint NOT NULL, customers bigint NOT NULL, different bigint NOT NULL,
                refunds bigint NOT NULL, failed bigint NOT NULL)
            """,
        ])

    package func customers(
        endingIn interval: ReconciliationInterval, notAskedSince begin: Timestamp,
        after position: ReconciliationPage.Position
    ) async throws(StorageError) -> ReconciliationPage {
        try page(
            try await read(
                """
                SELECT record.id, expiresDate, customer, bundleId, environment, record.originalTransactionId,
                    (NOT $3::boolean OR EXISTS (
                        SELECT 1 FROM subscription
                        WHERE subscription.originalTransactionId = record.originalTransactionId
                            AND subscription.app = record.app AND status IN (3, 4)))
                    AND NOT EXISTS (
                        SELECT 1 FROM transactionRecord AS later
                        WHERE later.originalTransactionId = record.originalTransactionId AND later.app = record.app
                            AND later.expiresDate > record.expiresDate)
                    AND NOT EXISTS (SELECT 1 FROM customer WHERE customer.id = record.customer AND askedAt >= $4)
                FROM (
                    SELECT id, app, customer, originalTransactionId, expiresDate FROM transactionRecord
                    WHERE expiresDate > 0 AND expiresDate >= $1 AND expiresDate < $2
                        AND (expiresDate, id) > ($5::bigint, $6::bigint)
                    ORDER BY expiresDate, id LIMIT \(ReconciliationPage.size)
                ) AS record JOIN app ON app.id = record.app ORDER BY expiresDate, record.id
                """,
                [
                    PostgreSQLValue(interval.start), PostgreSQLValue(interval.end), .boolean(interval.isOnlyUnpaid),
                    PostgreSQLValue(begin), .integer(position.expiresDate), .integer(position.id),
                ]))
    }

    package func staleCustomers(
        notAskedSince begin: Timestamp, after position: ReconciliationPage.Position
    ) async throws(StorageError) -> ReconciliationPage {
        try page(
            try await read(
                """
                SELECT customer.id, 0::bigint, customer.id, bundleId, environment,
                    (SELECT originalTransactionId FROM transactionRecord
                        WHERE transactionRecord.customer = customer.id ORDER BY place LIMIT 1),
                    needsLookupSince IS NOT NULL AND askedAt < $1
                FROM (SELECT * FROM customer WHERE id > $2 ORDER BY id LIMIT \(ReconciliationPage.size)) AS customer
                JOIN app ON app.id = customer.app ORDER BY customer.id
                """, [PostgreSQLValue(begin), .integer(position.id)]))
    }

    /// Returns a page of rows of: row id, end of the period, customer, bundle id, environment, original transaction id,
    /// and whether the customer is asked about.
    private func page(_ rows: [PostgreSQLRow]) throws(StorageError) -> ReconciliationPage {
        try value { () throws(PostgreSQLError) in
            var targets: [ReconciliationTarget] = []
            for row in rows where try row.boolean(6) {
                guard let scope = try row.scope(3, 4),
                    let identifier = try row.optionalText(5).flatMap(TransactionIdentifier.init(rawValue:))
                else { continue }
                targets.append(
                    ReconciliationTarget(customer: try row.optionalInteger(2), scope: scope, identifier: identifier))
            }
            guard rows.count == ReconciliationPage.size, let last = rows.last else {
                return ReconciliationPage(targets: targets, next: nil)
            }
            return ReconciliationPage(
                targets: targets, next: .init(expiresDate: try last.integer(1), id: try last.integer(0)))
        }
    }

    package func transactionsWithoutExpiry(limit: Int) async throws(StorageError) -> [(id: Int64, text: String)] {
        let rows = try await read(
            "SELECT id, text FROM transactionRecord WHERE expiresDate IS NULL ORDER BY id LIMIT $1",
            [.integer(Int64(limit))])
        let found = try value { () throws(PostgreSQLError) in
            try rows.map { row throws(PostgreSQLError) in (try row.integer(0), try row.jws(1)) }
        }
        return Array(zip(found.map(\.0), try await texts(found.map(\.1))))
    }

    /// Rows that another transaction has locked are left for the next call, so that this never waits while it holds
    /// locks.
    package func addExpiries(_ expiries: [(id: Int64, expiresDate: Timestamp?)]) async throws(StorageError) {
        try await write([
            PostgreSQLQuery(
                """
                UPDATE transactionRecord SET expiresDate = new.expiresDate
                FROM unnest($1::bigint[], $2::bigint[]) AS new (id, expiresDate)
                WHERE transactionRecord.id = new.id AND transactionRecord.id IN (
                    SELECT id FROM transactionRecord WHERE id = ANY ($1::bigint[]) AND expiresDate IS NULL
                    ORDER BY id FOR UPDATE SKIP LOCKED)
                """,
                [
                    .integers(expiries.map(\.id)),
                    .integers(expiries.map { TransactionRow.expiresColumn($0.expiresDate) }),
                ])
        ])
    }

    package func lastReconciliation() async throws(StorageError) -> ReconciliationRow? {
        let rows = try await read(
            """
            SELECT startedAt, endedAt, continuesAt, windowSeconds, notifications, customers, different, refunds, failed
            FROM reconciliation
            """)
        return try value { () throws(PostgreSQLError) in
            try rows.first.map { row throws(PostgreSQLError) in
                var last = ReconciliationRow(startedAt: try row.timestamp(0), window: try row.integer(3))
                last.endedAt = try row.optionalTimestamp(1)
                last.continuesAt = try row.optionalTimestamp(2)
                last.notifications = try row.integer(4)
                last.customers = try row.integer(5)
                last.different = try row.integer(6)
                last.refunds = try row.integer(7)
                last.failed = try row.integer(8)
                return last
            }
        }
    }

    package func save(_ reconciliation: ReconciliationRow) async throws(StorageError) {
        try await write([
            PostgreSQLQuery(
                """
                INSERT INTO reconciliation VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8, $9)
                ON CONFLICT (id) DO UPDATE SET
                    startedAt = excluded.startedAt, endedAt = excluded.endedAt,
                    continuesAt = excluded.continuesAt, windowSeconds = excluded.windowSeconds,
                    notifications = excluded.notifications, customers = excluded.customers,
                    different = excluded.different, refunds = excluded.refunds, failed = excluded.failed
                """,
                [
                    PostgreSQLValue(reconciliation.startedAt), PostgreSQLValue(reconciliation.endedAt),
                    PostgreSQLValue(reconciliation.continuesAt), .integer(reconciliation.window),
                    .integer(reconciliation.notifications),
                    .integer(reconciliation.customers), .integer(reconciliation.different),
                    .integer(reconciliation.refunds), .integer(reconciliation.failed),
                ])
        ])
    }
}
