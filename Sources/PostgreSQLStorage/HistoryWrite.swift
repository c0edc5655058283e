import Base
import PostgreSQLClient
import Storage

/// Stores the complete history of one customer. Several customers that have some of its records are merged into one.
struct HistoryWrite: Sendable {
    private let row: CustomerRow
    /// The encoded transactions and renewal infos of the row.
    private let transactions, renewals: [EncodedJWS]
    private let app: Int64
    private let scope: AppScope
    private let source: EventSource
    private let recordsEvents: Bool
    /// Row ids of the forwarding targets to which what differed is reported.
    private let targets: [Int64]

    init(
        _ row: CustomerRow, transactions: [EncodedJWS], renewals: [EncodedJWS], app: Int64, scope: AppScope,
        source: EventSource, recordsEvents: Bool, targets: [Int64]
    ) {
        self.row = row
        self.transactions = transactions
        self.renewals = renewals
        self.app = app
        self.scope = scope
        self.source = source
        self.recordsEvents = recordsEvents
        self.targets = targets
    }

    private var transactionIds: [String] { row.transactions.map(\.transactionId) }

    /// Runs the statements in a transaction. Returns whether the history differed from the stored records; `false` if
    /// they were not compared.
    func run(in transaction: PostgreSQLTransaction) async throws -> Bool {
        let (customers, stored) = try await lock(in: transaction)
        let compares = recordsEvents || source == .reconcile
        var before = compares ? try await history(in: transaction) : nil
        let id: Int64
        if let first = customers.first {
            id = first
        } else {
            let inserted = try await transaction.query(
                PostgreSQLQuery(
                    "INSERT INTO customer (app, askedAt, appAppleId, revision) VALUES ($1, $2, $3, $4) RETURNING id",
                    [
                        .integer(app), PostgreSQLValue(row.askedAt), PostgreSQLValue(row.appAppleId),
                        PostgreSQLValue(row.revision),
                    ]))
            guard let row = inserted.rows.first else { return false }
            id = try row.integer(0)
        }
        var queries: [PostgreSQLQuery] = []
        if customers.count > 1 { queries += Self.merge(Array(customers.dropFirst()), into: id) }
        if !customers.isEmpty { queries.append(update(id)) }
        queries += save(HistoryChanges(row.transactions, stored: stored), customer: id)
        let detached = queries.count
        queries.append(detach(from: id))
        let subscriptions = subscriptions
        if !subscriptions.isEmpty { queries.append(SubscriptionColumns.save(subscriptions, app: app)) }
        if !row.aliases.isEmpty {
            queries.append(
                PostgreSQLQuery(
                    "INSERT INTO companion SELECT DISTINCT $1::bigint, unnest($2::text[]) ON CONFLICT DO NOTHING",
                    [.integer(id), .texts(row.aliases)]))
        }
        let results = try await transaction.run(queries)
        before?.detached = try results[detached].rows.map { try $0.text(0) }.sorted()
        guard let before else { return false }
        let found = LookupEvents(
            row, transactions: transactions, renewals: renewals, stored: before, source: source)
        let additions = (recordsEvents ? events(found, customer: id) : []) + reports(found)
        if !additions.isEmpty { _ = try await transaction.run(additions) }
        return found.differs
    }

    // MARK: - Events

    /// Reads what is stored of the customer, after it was locked.
    private func history(in transaction: PostgreSQLTransaction) async throws -> StoredHistory {
        let ids: [PostgreSQLValue] = [.integer(app), .texts(transactionIds)]
        let originals = row.statuses.map(\.originalTransactionId) + row.renewals.map(\.originalTransactionId)
        let results = try await transaction.run([
            PostgreSQLQuery(
                """
                SELECT record.transactionId, originalTransactionId, record.signedDate, customer, text,
                    webOrderLineItemId, date, reason, revocation.signedDate
                FROM transactionRecord AS record LEFT JOIN revocation
                    ON revocation.transactionId = record.transactionId AND revocation.app = record.app
                WHERE record.app = $1 AND record.transactionId = ANY ($2::text[])
                """, ids),
            PostgreSQLQuery(
                """
                SELECT \(PostgreSQLStore.eventKey) FROM customer WHERE id IN (
                    SELECT customer FROM transactionRecord
                    WHERE app = $1 AND transactionId = ANY ($2::text[]) AND customer IS NOT NULL)
                """, ids),
            PostgreSQLQuery(
                """
                SELECT originalTransactionId, status, statusClock, subscriptionGroupIdentifier, renewal, renewalClock
                FROM subscription WHERE app = $1 AND originalTransactionId = ANY ($2::text[])
                """, [.integer(app), .texts(originals)]),
        ])
        var history = StoredHistory()
        for record in results[0].rows {
            let id = try record.text(0)
            var revocation: RevocationRow?
            if let date = try record.optionalTimestamp(6) {
                revocation = RevocationRow(
                    transactionId: id, webOrderLineItemId: try record.optionalText(5), date: date,
                    reason: try record.optionalInteger(7), signedDate: try record.optionalTimestamp(8))
            }
            history.records[id] = StoredHistory.Record(
                originalTransactionId: try record.text(1), signedDate: try record.timestamp(2),
                customer: try record.optionalInteger(3), text: try record.jws(4), revocation: revocation)
        }
        history.keys = try results[1].rows.compactMap { try $0.optionalText(0) }
        for subscription in results[2].rows {
            history.subscriptions[try subscription.text(0)] = StoredHistory.Subscription(
                status: try subscription.optionalInteger(1), statusClock: try subscription.integer(2),
                group: try subscription.optionalText(3), renewal: try subscription.optionalJWS(4),
                renewalClock: try subscription.integer(5))
        }
        return history
    }

    /// The statements that add the events of what differed, and store their key with the customer.
    private func events(_ found: LookupEvents, customer: Int64) -> [PostgreSQLQuery] {
        var queries = [
            PostgreSQLQuery(
                "UPDATE customer SET eventKey = $1::text WHERE id = $2 AND eventKey IS DISTINCT FROM $1::text",
                [PostgreSQLValue(found.key), .integer(customer)])
        ]
        if !found.events.isEmpty {
            queries += [PostgreSQLStore.allocation, PostgreSQLStore.insert(found.events, in: scope)].map(
                PostgreSQLQuery.init)
        }
        return queries
    }

    /// The statements that store the reports of what differed.
    private func reports(_ found: LookupEvents) -> [PostgreSQLQuery] {
        RecordStatement.reports(found.reports(row, in: scope), app: app, targets: targets)
    }

    // MARK: - Locks

    /// Locks the slots of the history and the customers that have some of its records. Returns these customers in
    /// ascending order, and the dates of signing of the stored records.
    private func lock(
        in transaction: PostgreSQLTransaction
    ) async throws -> (customers: [Int64], stored: [String: Timestamp]) {
        let identifiers =
            row.transactions.flatMap { [$0.transactionId, $0.originalTransactionId] }
            + row.statuses.map(\.originalTransactionId) + row.renewals.map(\.originalTransactionId)
        _ = try await transaction.query(LockSlot.lock(identifiers, app: app))
        let arguments: [PostgreSQLValue] = [.integer(app), .texts(transactionIds)]
        let found = """
            SELECT DISTINCT customer FROM transactionRecord
            WHERE app = $1 AND transactionId = ANY ($2::text[]) AND customer IS NOT NULL
            """
        while true {
            let results = try await transaction.run([
                PostgreSQLQuery("SELECT id FROM customer WHERE id IN (\(found)) ORDER BY id FOR UPDATE", arguments),
                PostgreSQLQuery("\(found) ORDER BY customer", arguments),
                PostgreSQLQuery(
                    """
                    SELECT transactionId, signedDate FROM transactionRecord
                    WHERE app = $1 AND transactionId = ANY ($2::text[])
                    """, arguments),
            ])
            let locked = Set(try results[0].rows.map { try $0.integer(0) })
            let customers = try results[1].rows.map { try $0.integer(0) }
            // Another history can have merged a customer into one that was not locked yet.
            guard locked.isSuperset(of: customers) else { continue }
            let stored = try results[2].rows.map { (try $0.text(0), try $0.timestamp(1)) }
            return (customers, Dictionary(stored) { max($0, $1) })
        }
    }

    // MARK: - The customer

    /// Moves everything of other customers to one. If one of the other customers was stale, the merged one is.
    private static func merge(_ others: [Int64], into id: Int64) -> [PostgreSQLQuery] {
        [
            "UPDATE transactionRecord SET customer = $1 WHERE customer = ANY ($2::bigint[])",
            """
            INSERT INTO companion SELECT DISTINCT $1::bigint, identifier FROM companion WHERE customer = ANY ($2::bigint[])
            ON CONFLICT DO NOTHING
            """,
            """
            UPDATE customer SET needsLookupSince = greatest(needsLookupSince,
                (SELECT max(needsLookupSince) FROM customer WHERE id = ANY ($2::bigint[]))) WHERE id = $1
            """,
            "DELETE FROM customer WHERE id = ANY ($2::bigint[]) AND id <> $1",
        ].map { PostgreSQLQuery($0, [.integer(id), .integers(others)]) }
    }

    /// Updates an existing customer. It stays stale only if an event since the history was signed requires a lookup.
    private func update(_ id: Int64) -> PostgreSQLQuery {
        PostgreSQLQuery(
            """
            UPDATE customer SET askedAt = greatest(askedAt, $1), appAppleId = coalesce($2, appAppleId), revision = $3,
            needsLookupSince = CASE WHEN needsLookupSince > $4 THEN needsLookupSince END WHERE id = $5
            """,
            [
                PostgreSQLValue(row.askedAt), PostgreSQLValue(row.appAppleId), PostgreSQLValue(row.revision),
                PostgreSQLValue(row.signedDate), .integer(id),
            ])
    }

    // MARK: - Records

    private func save(_ changes: HistoryChanges, customer: Int64) -> [PostgreSQLQuery] {
        let rows = changes.written.map { row.transactions[$0] }
        let revoked = rows.compactMap(\.revocation)
        let valid = rows.filter { $0.revocation == nil }.map(\.transactionId)
        var queries: [PostgreSQLQuery] = []
        if !rows.isEmpty {
            queries.append(
                PostgreSQLQuery(
                    """
                    INSERT INTO transactionRecord
                    (app, customer, transactionId, originalTransactionId, appTransactionId, place, signedDate, text,
                        appAccountToken, expiresDate)
                    SELECT $1::bigint, $2::bigint, id, original, nullif(download, ''), place, signedDate, text, token,
                        expiresDate
                    FROM unnest(
                        $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bytea[], $9::text[],
                        $10::bigint[])
                        AS new (id, original, download, place, signedDate, text, token, expiresDate)
                    ON CONFLICT (transactionId, app) DO UPDATE SET
                        customer = excluded.customer, originalTransactionId = excluded.originalTransactionId,
                        appTransactionId = excluded.appTransactionId, place = excluded.place,
                        signedDate = excluded.signedDate, text = excluded.text,
                        appAccountToken = excluded.appAccountToken, expiresDate = excluded.expiresDate
                    """,
                    [
                        .integer(app), .integer(customer), .texts(rows.map(\.transactionId)),
                        .texts(rows.map(\.originalTransactionId)), .texts(rows.map { $0.appTransactionId ?? "" }),
                        .integers(changes.written.map(Int64.init)), .integers(rows.map(\.signedDate.milliseconds)),
                        .byteStrings(changes.written.map { transactions[$0].columnBytes }),
                        .texts(rows.map { $0.appAccountToken ?? "" }), .integers(rows.map(\.expiresColumn)),
                    ]))
        }
        if !changes.newer.isEmpty {
            // Newer records arrived during the lookup. They belong to the customer all the same.
            queries.append(
                PostgreSQLQuery(
                    """
                    UPDATE transactionRecord SET customer = $1 WHERE app = $2 AND transactionId = ANY ($3::text[])
                    """, [.integer(customer), .integer(app), .texts(changes.newer)]))
        }
        if !revoked.isEmpty { queries.append(PostgreSQLStore.save(revoked, app: app)) }
        if !valid.isEmpty { queries.append(PostgreSQLStore.deleteRevocations(of: valid, app: app)) }
        return queries
    }

    /// Detaches records that are no longer in the history from the customer, unless they were signed after the history.
    private func detach(from id: Int64) -> PostgreSQLQuery {
        PostgreSQLQuery(
            """
            UPDATE transactionRecord SET customer = NULL, place = 0
            WHERE customer = $1 AND signedDate < $2 AND transactionId <> ALL ($3::text[]) RETURNING transactionId
            """, [.integer(id), PostgreSQLValue(row.signedDate), .texts(transactionIds)])
    }

    /// The statuses and renewal infos, one row for each subscription.
    private var subscriptions: [SubscriptionColumns] {
        var rows: [SubscriptionColumns] = []
        var positions: [String: Int] = [:]
        func add(_ columns: SubscriptionColumns) {
            if let position = positions[columns.originalTransactionId] {
                rows[position].add(columns)
            } else {
                positions[columns.originalTransactionId] = rows.count
                rows.append(columns)
            }
        }
        for (position, status) in row.statuses.enumerated() {
            add(SubscriptionColumns(status, place: Int64(position)))
        }
        for (renewal, text) in zip(row.renewals, renewals) { add(SubscriptionColumns(renewal, as: text)) }
        return rows
    }
}

/// Which transactions of a history are written, by ``RecordChange``.
private struct HistoryChanges {
    /// Positions of the transactions that are inserted or replace the stored version.
    let written: [Int]
    /// Ids of the transactions of which a newer version is stored.
    let newer: [String]

    /// - Parameter stored: dates of signing of the stored versions, by transaction id.
    init(_ rows: [TransactionRow], stored: [String: Timestamp]) {
        var dates = stored
        var positions: [String: Int] = [:]
        for (position, row) in rows.enumerated() {
            let id = row.transactionId
            guard RecordChange(lookedUp: row.signedDate, stored: dates[id]).isNew else { continue }
            (dates[id], positions[id]) = (row.signedDate, position)
        }
        written = positions.values.sorted()
        newer = Set(rows.map(\.transactionId)).subtracting(positions.keys).sorted()
    }
}
