import ReceiptBridgeBase

/// The statements around ``RecordChanges``: those that read what is stored about the reports of one app, and those that
/// write what the reports change.
struct RecordWrite<Engine: SQLEngine>: Sendable {
    let engine: Engine
    let app: Int64
    let scope: AppScope
    private let parts: [(part: Part, identifiers: [String])]
    let purchases, downloads: [String]

    private var dialect: SQLDialect { engine.dialect }

    init(_ engine: Engine, _ reports: [RecordReport], app: Int64, scope: AppScope) {
        (self.engine, self.app, self.scope) = (engine, app, scope)
        let rows = reports.compactMap(\.transaction?.row)
        let lookups = reports.filter { $0.lookup != .notNeeded }.compactMap(\.purchase)
        let records = rows.map(\.transactionId) + lookups
        let originals = reports.flatMap(\.purchases)
        purchases = originals + rows.map(\.transactionId)
        downloads = rows.compactMap(\.appTransactionId)
        let subscriptions = reports.flatMap(\.subscriptions).map(\.originalTransactionId)
        parts = [
            (.records, records), (.purchases, originals), (.downloads, downloads), (.subscriptions, subscriptions),
        ].filter { !$0.1.isEmpty }.map { ($0, Array(Set($1))) }
    }

    // MARK: - Reading

    /// What is read, each by identifiers of its own.
    private enum Part { case records, purchases, downloads, subscriptions }

    /// The statements that read, after the locks.
    var reads: [SQLStatement] {
        parts.map { SQLStatement(text(of: $0.part), .integer(app), .texts($0.identifiers)) }
    }

    private func text(of part: Part) -> String {
        let wanted = "FROM \(dialect.rows([("identifier", "$2")], as: "wanted"))"
        func record(_ condition: String) -> String {
            dialect.lookUp("transactionRecord", where: "\(condition) AND app = $1", as: "record")
        }
        func revocation(_ column: String) -> String {
            "(SELECT \(column) FROM revocation WHERE transactionId = wanted.identifier AND app = $1)"
        }
        let key = "(SELECT \(dialect.eventKey) FROM customer WHERE customer.id = record.customer)"
        let customer = """
            wanted.identifier, record.customer,
            (SELECT max(place) FROM transactionRecord AS other
                WHERE other.customer = record.customer AND \(dialect.isCount("other.place"))),
            \(engine.recordsEvents ? key : "CAST(NULL AS text)")
            """
        return switch part {
        case .records:
            """
            SELECT \(customer), record.id, record.signedDate,
                \(revocation("1")), \(revocation("date")), \(revocation("signedDate")), \(revocation("askedAt")),
                record.reportedRefund
            \(wanted) \(record("transactionId = wanted.identifier"))
            """
        case .purchases:
            """
            SELECT \(customer) \(wanted) \(record("originalTransactionId = wanted.identifier AND customer IS NOT NULL"))
            """
        case .downloads:
            "SELECT \(customer) \(wanted) \(record("appTransactionId = wanted.identifier AND customer IS NOT NULL"))"
        case .subscriptions:
            """
            SELECT wanted.identifier, known.renewalClock, known.statusClock \(wanted)
            \(dialect.lookUp("subscription", where: "originalTransactionId = wanted.identifier AND app = $1", as: "known"))
            """
        }
    }

    /// Reads the rows of ``reads``. What is damaged counts as missing, so that it is written again.
    func stored(_ rows: [[Engine.Row]]) throws(StorageError) -> StoredRecords {
        var stored = StoredRecords()
        for ((part, _), rows) in zip(parts, rows) {
            for row in rows {
                let identifier = try row.text(0)
                if part == .subscriptions {
                    let none = SubscriptionColumns.noClock
                    stored.subscriptions[identifier] = StoredRecords.Clocks(
                        renewal: time(row, 1)?.milliseconds ?? none, status: time(row, 2)?.milliseconds ?? none)
                    continue
                }
                let customer = number(row, 1)
                if let customer {
                    stored.customers[customer] = StoredRecords.Customer(
                        nextPlace: (number(row, 2) ?? -1) + 1, eventKey: (try? row.optionalText(3)) ?? nil)
                }
                switch part {
                case .purchases: stored.purchases[identifier] = customer
                case .downloads: stored.downloads[identifier] = customer
                default: add(row, identifier, of: customer, to: &stored)
                }
            }
        }
        return stored
    }

    private func add(_ row: Engine.Row, _ id: String, of customer: Int64?, to stored: inout StoredRecords) {
        if number(row, 4) != nil {
            stored.records[id] = StoredRecords.Record(
                signedDate: time(row, 5) ?? Timestamp(milliseconds: 0), customer: customer,
                reportedRefund: number(row, 10).map { Timestamp(milliseconds: Int64(clamping: $0.magnitude)) })
        }
        if number(row, 6) != nil {
            stored.revocations[id] = StoredRecords.Revocation(
                date: time(row, 7), reportedAt: time(row, 8).map { .signed($0) } ?? time(row, 9).map { .asked($0) })
        }
    }

    private func number(_ row: Engine.Row, _ column: Int) -> Int64? { (try? row.number(column)) ?? nil }

    private func time(_ row: Engine.Row, _ column: Int) -> Timestamp? { (try? row.optionalTimestamp(column)) ?? nil }

    // MARK: - Writing

    func statements(_ changes: RecordChanges) -> [SQLStatement] {
        let history = changes.history.map { row, text in
            [.integer(app), .text(row.transactionId), SQLValue(row.signedDate), .jws(text)]
        }
        return keep(changes.superseded)
            + dialect.insert(history, into: .supersededTransaction, Self.history, "")
            + TransactionRow.save(changes.written, app: app, dialect)
            + RevocationRow.save(Array(changes.revoked.values), app: app, dialect)
            + RevocationRow.delete(changes.valid.sorted(), app: app, dialect) + markReported(changes.refunds)
            + SubscriptionColumns.save(changes.subscriptions, app: app, dialect) + markStale(changes.stale)
            + (changes.events.isEmpty ? [] : engine.insertions(of: changes.events, in: scope))
    }

    private static var history: String { "app, transactionId, signedDate, text" }

    private func keep(_ ids: [String]) -> [SQLStatement] {
        guard !ids.isEmpty else { return [] }
        let columns = Self.history.split(separator: ", ").map { "record.\($0)" }.joined(separator: ", ")
        return [
            SQLStatement(
                """
                INSERT INTO supersededTransaction (\(Self.history)) SELECT \(columns)
                FROM \(dialect.rows([("identifier", "$2")], as: "wanted"))
                \(dialect.lookUp("transactionRecord", where: "transactionId = wanted.identifier AND app = $1", as: "record"))
                WHERE record.id IS NOT NULL
                """, .integer(app), .texts(ids))
        ]
    }

    private func markReported(_ refunds: [String: Timestamp]) -> [SQLStatement] {
        refunds.sorted { $0.key < $1.key }.map { id, date in
            SQLStatement(
                "UPDATE transactionRecord SET reportedRefund = $1 WHERE transactionId = $2 AND app = $3",
                SQLValue(date), .text(id), .integer(app))
        }
    }

    /// Marks customers as stale until a lookup that was signed later.
    private func markStale(_ customers: [Int64: Timestamp]) -> [SQLStatement] {
        guard !customers.isEmpty else { return [] }
        return [
            SQLStatement(
                """
                UPDATE customer SET
                    needsLookupSince = \(dialect.greatest(dialect.time("needsLookupSince"), "stale.clock"))
                FROM \(dialect.rows([("id", "$1"), ("clock", "$2")], as: "stale")) WHERE customer.id = stale.id
                """, .integers(Array(customers.keys)), .integers(customers.values.map(\.milliseconds)))
        ]
    }
}
