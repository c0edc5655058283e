package import ReceiptBridgeBase

/// The customers that a reconciliation asks about, and its state.
package protocol ReconciliationStore: SQLEngine {}

extension ReconciliationStore {
    /// Returns customers with a subscription whose last known period ends in the interval, in pages and ascending by
    /// that end. Customers that were looked up at or after `begin` are left out. A customer with several such
    /// subscriptions is returned with each of them.
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
                .integer(position.key), .integer(position.id)))
    }

    /// Returns customers that need a lookup, in pages. Those that were looked up last come first: they were asked for
    /// last. Those that were looked up at or after `begin` are left out, unless the need is later. The first position
    /// is ``ReconciliationPage/Position/newest``.
    package func customers(
        with need: LookupNeed, notAskedSince begin: Timestamp, after position: ReconciliationPage.Position
    ) async throws(StorageError) -> ReconciliationPage {
        let parts = LookupNeed.conditions("$1", "$2").enumerated().map { index, condition in
            """
            SELECT * FROM (
                SELECT id, app, askedAt, needsLookupSince FROM customer WHERE \(condition)
                    AND (askedAt, id) < ($3, $4)
                ORDER BY askedAt DESC, id DESC LIMIT \(ReconciliationPage.size)) AS part\(index)
            """
        }
        return try await page(
            after: position, isDescending: true,
            SQLStatement(
                """
                SELECT customer.id, askedAt, customer.id, bundleId, environment,
                    (SELECT originalTransactionId FROM transactionRecord
                        WHERE transactionRecord.customer = customer.id ORDER BY place LIMIT 1),
                    \(dialect.isAny("bundleId", "$5")) AND (needsLookupSince IS NULL OR askedAt < $6)
                FROM (
                    \(parts.joined(separator: " UNION ALL "))
                    ORDER BY askedAt DESC, id DESC LIMIT \(ReconciliationPage.size)
                ) AS customer JOIN app ON app.id = customer.app ORDER BY askedAt DESC, customer.id DESC
                """, SQLValue(need.start), SQLValue(need.end), .integer(-position.key), .integer(-position.id),
                .texts(need.apps.map(\.rawValue)), SQLValue(begin)))
    }

    /// Returns how many customers need a lookup. The count is read from indices.
    package func countCustomers(with need: LookupNeed) async throws(StorageError) -> Int64 {
        let counts = LookupNeed.conditions("$1", "$2").map {
            "(SELECT count(*) FROM customer WHERE \($0) AND app = app.id)"
        }
        return try await read(
            SQLStatement(
                "SELECT \(counts.joined(separator: " + ")) FROM app WHERE \(dialect.isAny("bundleId", "$3"))",
                SQLValue(need.start), SQLValue(need.end), .texts(need.apps.map(\.rawValue)))
        ) { (row) throws(StorageError) in try row.integer(0) }.reduce(0, +)
    }

    /// Records that the App Store does not know a customer. Asking again would bring nothing.
    package func markUnknown(_ customer: Int64) async throws(StorageError) {
        try await write([SQLStatement("UPDATE customer SET needsLookupSince = 0 WHERE id = $1", .integer(customer))])
    }

    /// Returns a page of rows of: row id, what they are sorted by, customer, bundle id, environment, original
    /// transaction id, and whether the customer is looked up.
    private func page(
        after position: ReconciliationPage.Position, isDescending: Bool = false, _ statement: SQLStatement
    ) async throws(StorageError) -> ReconciliationPage {
        let sign: Int64 = isDescending ? -1 : 1
        let rows = try await read(statement) { (row) throws(StorageError) in
            (
                position: try self.intact(row) { (row) throws(StorageError) in
                    ReconciliationPage.Position(
                        key: try row.timestamp(1).milliseconds * sign, id: try row.integer(0) * sign)
                },
                target: try self.intact(row) { (row) throws(StorageError) in try ReconciliationTarget(row) },
                damage: row.damage(0)
            )
        }
        let targets = rows.compactMap(\.target)
        guard rows.count == ReconciliationPage.size, let last = rows.last,
            let next = rows.compactMap(\.position).last
        else { return ReconciliationPage(targets: targets, next: nil) }
        // In a damaged file a key can come again, and reading after it would never end.
        guard (next.key, next.id) > (position.key, position.id) else { throw last.damage }
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
                    failed, history
                FROM reconciliation
                """)
        ) { (row) throws(StorageError) in
            var last = ReconciliationRow(startedAt: try row.timestamp(0), window: try row.count(3))
            last.endedAt = try row.optionalTimestamp(1)
            last.continuesAt = try row.optionalTimestamp(2)
            last.notifications = try row.count(4)
            last.customers = try row.count(5)
            last.different = try row.count(6)
            last.refunds = try row.count(7)
            last.failed = try row.count(8)
            last.positions = try row.optionalText(9) ?? ""
            return last
        }.first
    }

    /// Stores the state of a reconciliation, which becomes the last one.
    package func save(_ reconciliation: ReconciliationRow) async throws(StorageError) {
        try await write([
            SQLStatement(
                """
                INSERT INTO reconciliation VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                ON CONFLICT (id) DO UPDATE SET
                    startedAt = excluded.startedAt, endedAt = excluded.endedAt,
                    continuesAt = excluded.continuesAt, windowSeconds = excluded.windowSeconds,
                    notifications = excluded.notifications, customers = excluded.customers,
                    different = excluded.different, refunds = excluded.refunds, failed = excluded.failed,
                    history = excluded.history
                """,
                SQLValue(reconciliation.startedAt), reconciliation.endedAt.map(SQLValue.init),
                reconciliation.continuesAt.map(SQLValue.init), .integer(reconciliation.window),
                .integer(reconciliation.notifications), .integer(reconciliation.customers),
                .integer(reconciliation.different), .integer(reconciliation.refunds), .integer(reconciliation.failed),
                .text(reconciliation.positions))
        ])
    }
}

extension ReconciliationTarget {
    /// Reads a row of a page; `nil` if the customer is not looked up.
    fileprivate init?(_ row: some SQLRow) throws(StorageError) {
        guard try row.boolean(6), let scope = try row.scope(3, 4),
            let identifier = try row.optionalText(5).flatMap(TransactionIdentifier.init(rawValue:))
        else { return nil }
        self.init(customer: try row.number(2), scope: scope, identifier: identifier)
    }
}
