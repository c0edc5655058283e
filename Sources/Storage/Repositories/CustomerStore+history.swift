package import ReceiptBridgeBase

extension CustomerStore {
    /// Stores the complete history of one customer. Records that were signed later than the history's stay unchanged.
    /// The source, why the customer was looked up, becomes part of the event. What differed is forwarded to the
    /// targets, see ``CustomerReport``.
    ///
    /// - Parameter known: an identifier of the customer who was looked up. If the app has no record with it, because
    /// the customer was erased in the meantime, nothing is stored.
    /// - Returns: whether the history differed from the stored records; `nil` if nothing was stored. Always `false` if
    ///   no events are recorded, except for the source `reconcile`.
    @discardableResult
    package func save(
        _ customer: CustomerRow, of scope: AppScope, source: EventSource = .lookup,
        ifRecorded known: TransactionIdentifier? = nil, reportingTo targetKeys: [ForwardingTargetKey] = []
    ) async throws(StorageError) -> Bool? {
        let write = HistoryWrite(
            engine: self, row: customer, transactions: await encoder.encode(customer.transactions.map(\.text)),
            renewals: await encoder.encode(customer.renewals.map(\.text)), app: try await appID(of: scope),
            scope: scope, source: source, known: known, targetKeys: targetKeys)
        return try await transaction(write.first)
    }
}

/// Stores the complete history of one customer. Several customers that have some of its records are merged into one.
/// What is damaged of a customer is replaced.
private struct HistoryWrite<Engine: SQLEngine>: Sendable {
    /// Returns whether the history differed from the stored records; `false` if they were not compared, and `nil` if
    /// nothing was stored.
    typealias Step = SQLStep<Engine.Row, Bool?>

    let engine: Engine
    let row: CustomerRow
    let transactions, renewals: [EncodedJWS]
    let app: Int64
    let scope: AppScope
    let source: EventSource
    let known: TransactionIdentifier?
    let targetKeys: [ForwardingTargetKey]

    private var dialect: SQLDialect { engine.dialect }
    private var transactionIds: [String] { row.transactions.map(\.transactionId) }
    private var downloads: [String] { Array(Set(row.transactions.compactMap(\.appTransactionId))) }
    private var compares: Bool { engine.recordsEvents || source == .reconcile }

    /// Locks the slots of the history and the customers that have some of its records.
    var first: Step {
        let identifiers =
            row.transactions.flatMap { [$0.transactionId, $0.originalTransactionId] } + downloads
            + row.statuses.map(\.originalTransactionId) + row.renewals.map(\.originalTransactionId)
            + [known?.rawValue].compactMap(\.self)
        let locks = engine.locks(of: identifiers, app: app)
        let values: [SQLValue] = [.integer(app), .texts(transactionIds)]
        let isInHistory = "app = $1 AND \(dialect.isAny("transactionId", "$2"))"
        let found = """
            SELECT DISTINCT customer FROM transactionRecord WHERE \(isInHistory) AND customer IS NOT NULL
            """
        let statements = [
            SQLStatement("SELECT id FROM customer WHERE id IN (\(found)) ORDER BY id \(dialect.locking)", values),
            SQLStatement("\(found) ORDER BY customer", values),
            SQLStatement("SELECT transactionId, signedDate FROM transactionRecord WHERE \(isInHistory)", values),
        ]
        let records = engine.records(with: known, app: app)
        return .run(locks + records + statements + (compares ? history : [])) { (rows) throws(StorageError) in
            guard records.isEmpty || !rows[locks.count].isEmpty else { return .end(nil) }
            return try second(Array(rows.dropFirst(locks.count + records.count)))
        }
    }

    /// Inserts the customer unless it is stored already. The rows are the ids of the locked customers, the ids of the
    /// customers, dates of signing of the stored records, and ``history``.
    private func second(_ rows: [[Engine.Row]]) throws(StorageError) -> Step {
        let locked = try engine.intact(rows[0]) { (row) throws(StorageError) in try row.rowID(0) }
        let customers = try engine.intact(rows[1]) { (row) throws(StorageError) in try row.rowID(0) }
        // Another history can have merged a customer into one that was not locked yet.
        guard Set(locked).isSuperset(of: customers) else { return first }
        var dates: [String: Timestamp] = [:]
        for row in rows[2] { dates[try row.text(0)] = (try? row.timestamp(1)) ?? Timestamp(milliseconds: 0) }
        let changes = HistoryChanges(row.transactions, stored: dates)
        let stored = compares ? try history(Array(rows.dropFirst(3))) : nil
        if let customer = customers.first {
            let merged = customers.count > 1 ? merge(Array(customers.dropFirst()), into: customer) : []
            return third(merged + [update(customer)], changes, customer, stored)
        }
        let insert = SQLStatement(
            "INSERT INTO customer (app, askedAt, appAppleId, revision) VALUES ($1, $2, $3, $4) RETURNING id",
            .integer(app), SQLValue(row.askedAt), SQLValue(row.appAppleId), SQLValue(row.revision))
        return .run([insert]) { (rows) throws(StorageError) in
            guard let inserted = rows[0].first else { return .end(false) }
            return third([], changes, try inserted.rowID(0), stored)
        }
    }

    private func third(
        _ preparation: [SQLStatement], _ changes: HistoryChanges, _ customer: Int64, _ stored: StoredHistory?
    ) -> Step {
        let statements = preparation + save(changes, customer) + [adopt(for: customer), detach(customer)]
        let others =
            SubscriptionColumns.save(subscriptions, app: app, dialect)
            + dialect.insert(
                row.aliases.map { [.integer(customer), .text($0)] }, into: .companion, "customer, identifier",
                "ON CONFLICT DO NOTHING")
            + engine.announcements(of: StoredChange(row, in: scope), app: app) + [markStale(customer)]
        return .run(statements + others) { (rows) throws(StorageError) in
            guard var stored else { return .end(false) }
            stored.detached = try engine.intact(rows[statements.count - 1]) { (row) throws(StorageError) in
                try row.text(0)
            }.sorted()
            let found = LookupEvents(
                row, transactions: transactions, renewals: renewals, stored: stored, source: source)
            let reports = CustomerReport.statements(found.reports(row, in: scope), to: targetKeys, app: app, dialect)
            return .end(found.differs, after: (engine.recordsEvents ? events(found, customer) : []) + reports)
        }
    }

    // MARK: - Events

    private var history: [SQLStatement] {
        let values: [SQLValue] = [.integer(app), .texts(transactionIds)]
        let originals = row.statuses.map(\.originalTransactionId) + row.renewals.map(\.originalTransactionId)
        return [
            SQLStatement(
                """
                SELECT record.transactionId, originalTransactionId, record.signedDate, customer, text,
                    webOrderLineItemId, date, reason, revocation.signedDate
                FROM transactionRecord AS record LEFT JOIN revocation
                    ON revocation.transactionId = record.transactionId AND revocation.app = record.app
                WHERE record.app = $1 AND \(dialect.isAny("record.transactionId", "$2"))
                """, values),
            SQLStatement(
                """
                SELECT \(dialect.eventKey) FROM customer WHERE id IN (
                    SELECT customer FROM transactionRecord
                    WHERE app = $1 AND \(dialect.isAny("transactionId", "$2")) AND customer IS NOT NULL)
                ORDER BY id
                """, values),
            SQLStatement(
                """
                SELECT originalTransactionId, status, statusClock, subscriptionGroupIdentifier, renewal, renewalClock
                FROM subscription WHERE app = $1 AND \(dialect.isAny("originalTransactionId", "$2"))
                """, .integer(app), .texts(originals)),
        ]
    }

    private func history(_ rows: [[Engine.Row]]) throws(StorageError) -> StoredHistory {
        var history = StoredHistory()
        let records = try engine.intact(rows[0]) { (row) throws(StorageError) in
            let id = try row.text(0)
            var revocation: RevocationRow?
            if let date = try row.optionalTimestamp(6) {
                revocation = RevocationRow(
                    transactionId: id, webOrderLineItemId: try row.optionalText(5), date: date,
                    reason: try row.optionalInteger(7), signedDate: try row.optionalTimestamp(8))
            }
            let record = StoredHistory.Record(
                originalTransactionId: try row.text(1), signedDate: try row.timestamp(2),
                customer: try row.number(3), text: try row.encodedText(4) ?? .damaged, revocation: revocation)
            return (id, record)
        }
        history.records = Dictionary(records) { $1 }
        history.keys = try engine.intact(rows[1]) { (row) throws(StorageError) in try row.optionalText(0) }
        let subscriptions = try engine.intact(rows[2]) { (row) throws(StorageError) in
            let subscription = StoredHistory.Subscription(
                status: try row.optionalInteger(1), statusClock: try row.timestamp(2).milliseconds,
                group: try row.optionalText(3),
                renewal: try row.encodedText(4), renewalClock: try row.timestamp(5).milliseconds)
            return (try row.text(0), subscription)
        }
        history.subscriptions = Dictionary(subscriptions) { $1 }
        return history
    }

    /// The statements that add the events of what differed, and store their key with the customer.
    private func events(_ found: LookupEvents, _ customer: Int64) -> [SQLStatement] {
        let setKey = SQLStatement(
            "UPDATE customer SET eventKey = $1 WHERE id = $2 AND coalesce(eventKey, '') <> $1",
            SQLValue(found.key), .integer(customer))
        return (found.key == nil ? [] : [setKey]) + engine.insertions(of: found.events, in: scope)
    }

    // MARK: - The customer

    /// Moves everything of other customers to one. If one of the other customers was stale, the merged one is.
    private func merge(_ others: [Int64], into customer: Int64) -> [SQLStatement] {
        let isOther = dialect.isAny("customer", "$2")
        return [
            "UPDATE transactionRecord SET customer = $1 WHERE \(isOther)",
            """
            INSERT INTO companion SELECT DISTINCT $1, identifier FROM companion WHERE \(isOther) ON CONFLICT DO NOTHING
            """,
            """
            UPDATE customer SET needsLookupSince = (
                SELECT max(needsLookupSince) FROM customer
                WHERE \(dialect.isTime("needsLookupSince")) AND (id = $1 OR \(dialect.isAny("id", "$2"))))
            WHERE id = $1
            """,
            "DELETE FROM customer WHERE \(dialect.isAny("id", "$2")) AND id <> $1",
        ].map { SQLStatement($0, .integer(customer), .integers(others)) }
    }

    /// Updates an existing customer. It stays stale only if an event since the history was signed requires a lookup.
    private func update(_ customer: Int64) -> SQLStatement {
        SQLStatement(
            """
            UPDATE customer SET
                askedAt = CASE WHEN \(dialect.isNewer("$1", than: "askedAt")) THEN $1 ELSE askedAt END,
                appAppleId = coalesce($2, appAppleId), revision = $3,
                needsLookupSince = CASE WHEN needsLookupSince > $4 AND \(dialect.isTime("needsLookupSince"))
                    THEN needsLookupSince END
            WHERE id = $5
            """, SQLValue(row.askedAt), SQLValue(row.appAppleId), SQLValue(row.revision), SQLValue(row.signedDate),
            .integer(customer))
    }

    // MARK: - Records

    private func save(_ changes: HistoryChanges, _ customer: Int64) -> [SQLStatement] {
        let rows = changes.written.map { row.transactions[$0] }
        let valid = rows.filter { $0.revocation == nil }.map(\.transactionId)
        var statements = TransactionRow.save(
            changes.written.map {
                RecordChanges.Written(
                    row: row.transactions[$0], text: transactions[$0], customer: customer, place: Int64($0))
            }, app: app, dialect)
        if !changes.newer.isEmpty {
            // Newer records arrived during the lookup. They belong to the customer all the same.
            statements.append(
                SQLStatement(
                    """
                    UPDATE transactionRecord SET customer = $1 WHERE app = $2 AND \(dialect.isAny("transactionId", "$3"))
                    """, .integer(customer), .integer(app), .texts(changes.newer)))
        }
        return statements + RevocationRow.save(rows.compactMap(\.revocation), app: app, dialect)
            + RevocationRow.delete(valid, signed: row.signedDate, app: app, dialect)
    }

    /// Gives records without a customer to this one that were signed after the history and are of the same download of
    /// the app, or of a purchase in the history: they were reported while the customer was looked up.
    private func adopt(for customer: Int64) -> SQLStatement {
        func orphans(_ column: String, _ parameter: String) -> String {
            """
            SELECT id FROM transactionRecord
            WHERE app = $2 AND \(dialect.isAny(column, parameter)) AND customer IS NULL AND signedDate >= $3
            """
        }
        let originals = Set(row.transactions.map(\.originalTransactionId))
        return SQLStatement(
            """
            UPDATE transactionRecord SET customer = $1, place = (
                SELECT coalesce(max(place) + 1, 0) FROM transactionRecord AS known
                WHERE known.customer = $1 AND \(dialect.isCount("known.place")))
            WHERE id IN (\(orphans("appTransactionId", "$4")) UNION \(orphans("originalTransactionId", "$5")))
            """, .integer(customer), .integer(app), SQLValue(row.signedDate), .texts(downloads),
            .texts(Array(originals)))
    }

    /// Marks the customer as stale if records that the history lacks were signed after it, because the lookup began
    /// before they were reported, or if the history and the statuses contradict each other.
    private func markStale(_ customer: Int64) -> SQLStatement {
        SQLStatement(
            """
            UPDATE customer SET needsLookupSince = \(dialect.greatest(dialect.time("needsLookupSince"), "newer.clock"))
            FROM (
                SELECT \(dialect.greatest("coalesce(max(signedDate), 0)", "$4")) AS clock FROM transactionRecord
                WHERE customer = $1 AND signedDate > $2 AND \(dialect.isTime("signedDate")) AND NOT \(dialect.isAny("transactionId", "$3"))) AS newer
            WHERE customer.id = $1 AND newer.clock > 0
            """, .integer(customer), SQLValue(row.signedDate), .texts(transactionIds),
            .integer(row.contradictsItself ? row.signedDate.milliseconds + 1 : 0))
    }

    /// Detaches records that are no longer in the history from the customer, unless they were signed after the history.
    private func detach(_ customer: Int64) -> SQLStatement {
        SQLStatement(
            """
            UPDATE transactionRecord SET customer = NULL, place = 0 WHERE customer = $1
            AND (signedDate < $2 OR NOT \(dialect.isTime("signedDate"))) AND NOT \(dialect.isAny("transactionId", "$3")) RETURNING transactionId
            """, .integer(customer), SQLValue(row.signedDate), .texts(transactionIds))
    }

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

extension TransactionRow {
    /// The statements that insert transactions. The new version replaces the stored one.
    static func save(_ rows: [RecordChanges.Written], app: Int64, _ dialect: SQLDialect) -> [SQLStatement] {
        let key: [(String, (RecordChanges.Written) -> SQLValue)] = [
            ("transactionId", { .text($0.row.transactionId) }), ("app", { _ in .integer(app) }),
        ]
        let others: [(String, (RecordChanges.Written) -> SQLValue)] = [
            ("customer", { SQLValue($0.customer) }),
            ("originalTransactionId", { .text($0.row.originalTransactionId) }),
            ("appTransactionId", { SQLValue($0.row.appTransactionId) }),
            ("place", { .integer($0.place) }),
            ("signedDate", { SQLValue($0.row.signedDate) }),
            ("text", { .jws($0.text) }),
            ("appAccountToken", { .text($0.row.appAccountToken ?? "") }),
            ("expiresDate", { .integer($0.row.expiresColumn) }),
        ]
        let replacing = others.map { "\($0.0) = excluded.\($0.0)" }.joined(separator: ", ")
        return dialect.insert(
            rows.map { row in (key + others).map { $0.1(row) } }, into: .transactionRecord,
            (key + others).map(\.0).joined(separator: ", "),
            "ON CONFLICT (transactionId, app) DO UPDATE SET \(replacing)")
    }
}
