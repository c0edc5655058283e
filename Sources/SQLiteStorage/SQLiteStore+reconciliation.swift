package import AppStoreTypes
import GRDB
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
        _ sql: String, _ arguments: StatementArguments
    ) async throws(StorageError) -> ReconciliationPage {
        try await read { db in
            let rows = try Row.fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
            let targets = rows.compactMap { row -> ReconciliationTarget? in
                guard row[6] as Bool, let bundleId = BundleIdentifier(rawValue: row[3]),
                    let environment = AppStoreEnvironment(rawValue: row[4]),
                    let identifier = (row[5] as String?).flatMap(TransactionIdentifier.init(rawValue:))
                else { return nil }
                return ReconciliationTarget(
                    customer: row[2], scope: AppScope(bundleId: bundleId, environment: environment),
                    identifier: identifier)
            }
            guard rows.count == ReconciliationPage.size, let last = rows.last else {
                return ReconciliationPage(targets: targets, next: nil)
            }
            return ReconciliationPage(targets: targets, next: .init(expiresDate: last[1], id: last[0]))
        }
    }

    package func transactionsWithoutExpiry(limit: Int) async throws(StorageError) -> [(id: Int64, text: String)] {
        try await read { db in
            try Row.fetchAll(
                db, sql: "SELECT id, text FROM transactionRecord WHERE expiresDate IS NULL ORDER BY id LIMIT ?",
                arguments: [limit]
            ).map { ($0[0], try self.text($0[1], in: db)) }
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
            try Row.fetchOne(
                db,
                sql: """
                    SELECT startedAt, endedAt, continuesAt, windowSeconds, notifications, customers, different, refunds,
                        failed
                    FROM reconciliation
                    """
            ).map { row in
                var last = ReconciliationRow(startedAt: Timestamp(milliseconds: row[0]), window: row[3])
                last.endedAt = (row[1] as Int64?).map(Timestamp.init(milliseconds:))
                last.continuesAt = (row[2] as Int64?).map(Timestamp.init(milliseconds:))
                (last.notifications, last.customers, last.different) = (row[4], row[5], row[6])
                (last.refunds, last.failed) = (row[7], row[8])
                return last
            }
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
