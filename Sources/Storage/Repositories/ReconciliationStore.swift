package import Base

/// The customers that a reconciliation asks about, and its state.
package protocol ReconciliationStore: SQLEngine {}

extension ReconciliationStore {
    /// Returns customers with a subscription whose last known period ends in the interval, in pages and ascending by
    /// that end. Customers that were looked up at or after `begin` are left out. A customer with several such
    /// subscriptions is returned with each of them.
    ///
    /// - Parameter position: ``ReconciliationPage/next`` of the page before.
    package func customers(
        endingIn interval: ReconciliationInterval, notAskedSince begin: Timestamp,
        after position: ReconciliationPage.Position
    ) async throws(StorageError) -> ReconciliationPage {
        // The greater of both bounds is named, because SQLite uses only one of them for the index.
        let start = dialect.greatest("$1", "$5")
        return try await page(
            after: position,
            SQLStatement(
                """
                SELECT record.id, expiresDate, customer, bundleId, environment, record.originalTransactionId,
                    (NOT $3 OR EXISTS (
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
                    WHERE expiresDate > 0 AND expiresDate >= \(start) AND expiresDate < $2
                        AND (expiresDate, id) > ($5, $6)
                    ORDER BY expiresDate, id LIMIT \(ReconciliationPage.size)
                ) AS record JOIN app ON app.id = record.app ORDER BY expiresDate, record.id
                """,
                SQLValue(interval.start), SQLValue(interval.end), .boolean(interval.isOnlyUnpaid), SQLValue(begin),
                .integer(position.expiresDate), .integer(position.id)))
    }

    /// Returns customers that need a lookup for another reason, for example a refund, in pages. Customers that were
    /// looked up at or after `begin` are left out.
    package func staleCustomers(
        notAskedSince begin: Timestamp, after position: ReconciliationPage.Position
    ) async throws(StorageError) -> ReconciliationPage {
        try await page(
            after: position,
            SQLStatement(
                """
                SELECT customer.id, 0, customer.id, bundleId, environment,
                    (SELECT originalTransactionId FROM transactionRecord
                        WHERE transactionRecord.customer = customer.id ORDER BY place LIMIT 1),
                    needsLookupSince IS NOT NULL AND askedAt < $1
                FROM (SELECT * FROM customer WHERE id > $2 ORDER BY id LIMIT \(ReconciliationPage.size)) AS customer
                JOIN app ON app.id = customer.app ORDER BY customer.id
                """, SQLValue(begin), .integer(position.id)))
    }

    /// Returns a page of rows of: row id, end of the period, customer, bundle id, environment, original transaction id,
    /// and whether the customer is looked up.
    private func page(
        after position: ReconciliationPage.Position, _ statement: SQLStatement
    ) async throws(StorageError) -> ReconciliationPage {
        let rows = try await read(statement) { (row) throws(StorageError) in
            (
                position: ReconciliationPage.Position(expiresDate: try row.integer(1), id: try row.integer(0)),
                target: try self.intact(row) { (row) throws(StorageError) in try ReconciliationTarget(row) },
                damage: row.damage(0)
            )
        }
        let targets = rows.compactMap(\.target)
        guard rows.count == ReconciliationPage.size, let last = rows.last else {
            return ReconciliationPage(targets: targets, next: nil)
        }
        let next = last.position
        // In a damaged file a key can come again, and reading after it would never end.
        guard (next.expiresDate, next.id) > (position.expiresDate, position.id) else { throw last.damage }
        return ReconciliationPage(targets: targets, next: next)
    }

    /// Returns transactions of which the end of the period is not stored separately, because an earlier version stored
    /// them.
    package func transactionsWithoutExpiry(limit: Int) async throws(StorageError) -> [(id: Int64, text: String)] {
        try await transactions(without: "expiresDate", limit: limit)
    }

    /// Stores the ends of such transactions; `nil` for a purchase without an end.
    package func addExpiries(_ expiries: [(id: Int64, expiresDate: Timestamp?)]) async throws(StorageError) {
        try await fill(
            "expiresDate", of: expiries.map(\.id),
            with: .integers(expiries.map { TransactionRow.expiresColumn($0.expiresDate) }))
    }

    /// Returns the last reconciliation, which may still run; `nil` if there was none.
    /// Without a readable row, the next reconciliation begins and replaces it.
    package func lastReconciliation() async throws(StorageError) -> ReconciliationRow? {
        try await readIntact(
            SQLStatement(
                """
                SELECT startedAt, endedAt, continuesAt, windowSeconds, notifications, customers, different, refunds,
                    failed
                FROM reconciliation
                """)
        ) { (row) throws(StorageError) in
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

    /// Stores the state of a reconciliation, which becomes the last one.
    package func save(_ reconciliation: ReconciliationRow) async throws(StorageError) {
        try await write([
            SQLStatement(
                """
                INSERT INTO reconciliation VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8, $9)
                ON CONFLICT (id) DO UPDATE SET
                    startedAt = excluded.startedAt, endedAt = excluded.endedAt,
                    continuesAt = excluded.continuesAt, windowSeconds = excluded.windowSeconds,
                    notifications = excluded.notifications, customers = excluded.customers,
                    different = excluded.different, refunds = excluded.refunds, failed = excluded.failed
                """,
                SQLValue(reconciliation.startedAt), reconciliation.endedAt.map(SQLValue.init),
                reconciliation.continuesAt.map(SQLValue.init), .integer(reconciliation.window),
                .integer(reconciliation.notifications), .integer(reconciliation.customers),
                .integer(reconciliation.different), .integer(reconciliation.refunds), .integer(reconciliation.failed))
        ])
    }
}

extension ReconciliationTarget {
    /// Reads a row of a page; `nil` if the customer is not looked up.
    fileprivate init?(_ row: some SQLRow) throws(StorageError) {
        guard try row.boolean(6), let scope = try row.scope(3, 4),
            let identifier = try row.optionalText(5).flatMap(TransactionIdentifier.init(rawValue:))
        else { return nil }
        self.init(customer: try row.optionalInteger(2), scope: scope, identifier: identifier)
    }
}
