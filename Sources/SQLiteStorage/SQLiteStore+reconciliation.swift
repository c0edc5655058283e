package import AppStoreTypes
import GRDB
import SQLiteFiles
package import Storage

/// The ends of subscriptions, and the state of the last reconciliation.
extension SQLiteStore: ReconciliationStore {
    /// - `transactionRecord.expiresDate`: ``TransactionRow/expiresColumn``; null for a row of an earlier version.
    /// - `reconciliation`: one row, the ``ReconciliationRow`` of the last reconciliation.
    static func addReconciliation(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE transactionRecord ADD COLUMN expiresDate INTEGER;
                CREATE INDEX transactionByExpiry ON transactionRecord (expiresDate) WHERE expiresDate > 0;
                CREATE INDEX transactionWithoutExpiry ON transactionRecord (id) WHERE expiresDate IS NULL;
                CREATE TABLE reconciliation (
                    id INTEGER PRIMARY KEY, startedAt INTEGER NOT NULL, endedAt INTEGER, continuesAt INTEGER,
                    windowSeconds INTEGER NOT NULL, notifications INTEGER NOT NULL, customers INTEGER NOT NULL, different INTEGER NOT NULL,
                    refunds INTEGER NOT NULL, failed INTEGER NOT NULL);
                """)
    }

    package func customers(
        endingIn interval: ReconciliationInterval, notAskedSince begin: Timestamp,
        after position: ReconciliationPage.Position
    ) async throws(StorageError) -> ReconciliationPage {
        try await page(
            after: position,
            """
            SELECT record.id, expiresDate, customer, bundleId, environment, record.originalTransactionId,
                (NOT ?3 OR EXISTS (
                    SELECT 1 FROM subscription WHERE subscription.originalTransactionId = record.originalTransactionId
                        AND subscription.app = record.app AND status IN (3, 4)))
                AND NOT EXISTS (
                    SELECT 1 FROM transactionRecord AS later
                    WHERE later.originalTransactionId = record.originalTransactionId AND later.app = record.app
                        AND later.expiresDate > record.expiresDate)
                AND NOT EXISTS (SELECT 1 FROM customer WHERE customer.id = record.customer AND askedAt >= ?4)
            FROM (
                SELECT id, app, customer, originalTransactionId, expiresDate FROM transactionRecord
                WHERE expiresDate > 0 AND expiresDate >= max(?1, ?5) AND expiresDate < ?2
                    AND (expiresDate, id) > (?5, ?6)
                ORDER BY expiresDate, id LIMIT \(ReconciliationPage.size)
            ) AS record JOIN app ON app.id = record.app ORDER BY expiresDate, record.id
            """,
            [
                interval.start.milliseconds, interval.end.milliseconds, interval.isOnlyUnpaid, begin.milliseconds,
                position.expiresDate, position.id,
            ])
    }

    package func staleCustomers(
        notAskedSince begin: Timestamp, after position: ReconciliationPage.Position
    ) async throws(StorageError) -> ReconciliationPage {
        try await page(
            after: position,
            """
            SELECT customer.id, 0, customer.id, bundleId, environment,
                (SELECT originalTransactionId FROM transactionRecord WHERE transactionRecord.customer = customer.id
                    ORDER BY place LIMIT 1),
                needsLookupSince IS NOT NULL AND askedAt < ?1
            FROM (SELECT * FROM customer WHERE id > ?2 ORDER BY id LIMIT \(ReconciliationPage.size)) AS customer
            JOIN app ON app.id = customer.app ORDER BY customer.id
            """, [begin.milliseconds, position.id])
    }

    /// Returns a page of rows of: row id, end of the period, customer, bundle id, environment, original transaction id,
    /// and whether the customer is asked about.
    private func page(
        after position: ReconciliationPage.Position, _ sql: String, _ arguments: StatementArguments
    ) async throws(StorageError) -> ReconciliationPage {
        try await read { db in
            let rows = try db.rows(sql, arguments)
            let targets = try self.intact(rows) { row -> ReconciliationTarget? in
                guard try row.boolean(6), let scope = try row.scope(3, 4),
                    let identifier = try row.optionalText(5).flatMap(TransactionIdentifier.init(rawValue:))
                else { return nil }
                return ReconciliationTarget(
                    customer: try row.optionalInteger(2), scope: scope, identifier: identifier)
            }
            guard rows.count == ReconciliationPage.size, let last = rows.last else {
                return ReconciliationPage(targets: targets, next: nil)
            }
            let next = ReconciliationPage.Position(expiresDate: try last.integer(1), id: try last.integer(0))
            guard (next.expiresDate, next.id) > (position.expiresDate, position.id) else { throw last.damage(0) }
            return ReconciliationPage(targets: targets, next: next)
        }
    }

    package func transactionsWithoutExpiry(limit: Int) async throws(StorageError) -> [(id: Int64, text: String)] {
        try await read { db in
            try self.page(after: .min, limit: limit) {
                try db.rows(
                    "SELECT id, text FROM transactionRecord WHERE expiresDate IS NULL AND id > ? ORDER BY id LIMIT ?",
                    [$0, limit])
            } _: {
                (try $0.integer(0), try self.text($0, 1, in: db))
            }
        }
    }

    package func addExpiries(_ expiries: [(id: Int64, expiresDate: Timestamp?)]) async throws(StorageError) {
        try await write { db in
            let update = try db.cachedStatement(
                sql: "UPDATE transactionRecord SET expiresDate = ? WHERE id = ? AND expiresDate IS NULL")
            for (id, date) in expiries { try update.execute(arguments: [TransactionRow.expiresColumn(date), id]) }
        }
    }

    package func lastReconciliation() async throws(StorageError) -> ReconciliationRow? {
        try await read { db in
            // Without a readable row, the next reconciliation begins and replaces it.
            let rows = try db.rows(
                """
                SELECT startedAt, endedAt, continuesAt, windowSeconds, notifications, customers, different, refunds,
                    failed
                FROM reconciliation
                """)
            return try self.intact(rows) { row in
                var last = ReconciliationRow(startedAt: try row.timestamp(0), window: try row.integer(3))
                last.endedAt = try row.optionalTimestamp(1)
                last.continuesAt = try row.optionalTimestamp(2)
                last.notifications = try row.integer(4)
                last.customers = try row.integer(5)
                last.different = try row.integer(6)
                last.refunds = try row.integer(7)
                last.failed = try row.integer(8)
                return last
            }.first
        }
    }

    package func save(_ reconciliation: ReconciliationRow) async throws(StorageError) {
        try await write { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO reconciliation VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    reconciliation.startedAt.milliseconds, reconciliation.endedAt?.milliseconds,
                    reconciliation.continuesAt?.milliseconds, reconciliation.window, reconciliation.notifications,
                    reconciliation.customers, reconciliation.different,
                    reconciliation.refunds, reconciliation.failed,
                ])
        }
    }
}
