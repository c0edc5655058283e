import Base
import GRDB

/// The table of events. A store in a file has one writer, so events become visible in the order of their sequence.
extension SQLiteStore: EventStore {
    /// Creates the table of events.
    ///
    /// - `events`: changes of customers (``EventRow``). A sequence is never used again.
    /// - `customer.eventKey`: the key of the customer's events; `nil` if none was stored since the column exists.
    static func addEvents(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE events (
                    sequence INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, app TEXT NOT NULL,
                    environment TEXT NOT NULL, customer TEXT NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL);
                CREATE INDEX eventsByCustomer ON events (customer, app);
                ALTER TABLE customer ADD COLUMN eventKey TEXT;
                """)
    }

    package func eventHorizon() async throws(StorageError) -> Int64 {
        try await read { try $0.integer("SELECT max(sequence) FROM events") ?? 0 }
    }

    // MARK: - Parts

    package func insertions(of events: [CustomerEvent], in scope: AppScope) -> [SQLStatement] {
        events.map { event in
            SQLStatement(
                "INSERT INTO events (time, app, environment, customer, type, body) VALUES ($1, $2, $3, $4, $5, $6)",
                SQLValue(Timestamp.now), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue),
                .text(event.customer), .text(event.type.rawValue), .text(event.body))
        }
    }

    static func insert(
        _ events: [CustomerEvent], in scope: AppScope, _ transaction: WriteTransaction
    ) throws {
        guard !events.isEmpty else { return }
        let now = Timestamp.now.milliseconds
        let statement = try transaction.statement(
            "INSERT INTO events (time, app, environment, customer, type, body) VALUES (?, ?, ?, ?, ?, ?)")
        for event in events {
            try statement.run {
                $0.bind(now)
                $0.bind(scope.bundleId.rawValue)
                $0.bind(scope.environment.rawValue)
                $0.bind(event.customer)
                $0.bind(event.type.rawValue)
                $0.bind(event.body)
            }
        }
    }

    /// The key of a customer's events. For one from before there were events, the smallest original transaction id.
    static let eventKey = """
        coalesce(eventKey, (
            SELECT originalTransactionId FROM transactionRecord WHERE transactionRecord.customer = customer.id
            ORDER BY length(originalTransactionId), originalTransactionId LIMIT 1))
        """

    /// Returns the key of the customer with a purchase: of its transaction, otherwise of its subscription. Purchases
    /// without a customer have their own id as the key.
    static func eventKey(of transactionId: String?, _ original: String, app: Int64, in db: Database) throws -> String {
        for (column, value) in [("transactionId", transactionId), ("originalTransactionId", original)] {
            let rows = try db.rows(
                """
                SELECT \(eventKey) FROM customer WHERE id = (
                    SELECT customer FROM transactionRecord
                    WHERE \(column) = ? AND app = ? AND customer IS NOT NULL LIMIT 1)
                """, [value, app])
            if let key = try intact(rows, { try $0.optionalText(0) }).first { return key }
        }
        return original
    }

    // MARK: - Lookups

    /// Reads what is stored of a customer, before the result of a lookup is stored.
    static func history(before row: CustomerRow, app: Int64, in db: Database) throws -> StoredHistory {
        var history = StoredHistory()
        let ids = list(row.transactions.map(\.transactionId))
        let records = try db.rows(
            """
            SELECT record.transactionId, originalTransactionId, record.signedDate, customer, text,
                webOrderLineItemId, date, reason, revocation.signedDate
            FROM transactionRecord AS record LEFT JOIN revocation
                ON revocation.transactionId = record.transactionId AND revocation.app = record.app
            WHERE record.app = ? AND record.transactionId IN (SELECT value FROM json_each(?))
            """, [app, ids])
        let stored = try intact(records) { record in
            let id = try record.text(0)
            let revocation = try record.optionalTimestamp(6).map {
                RevocationRow(
                    transactionId: id, webOrderLineItemId: try record.optionalText(5), date: $0,
                    reason: try record.optionalInteger(7), signedDate: try record.optionalTimestamp(8))
            }
            return (
                id,
                StoredHistory.Record(
                    originalTransactionId: try record.text(1), signedDate: try record.timestamp(2),
                    customer: try record.optionalInteger(3), text: record.jws(4), revocation: revocation)
            )
        }
        for (id, record) in stored { history.records[id] = record }
        history.keys = try intact(
            db.rows(
                """
                SELECT \(eventKey) FROM customer WHERE id IN (
                    SELECT customer FROM transactionRecord
                    WHERE app = ? AND transactionId IN (SELECT value FROM json_each(?)) AND customer IS NOT NULL)
                ORDER BY id
                """, [app, ids])
        ) { try $0.text(0) }
        let originals = row.statuses.map(\.originalTransactionId) + row.renewals.map(\.originalTransactionId)
        let subscriptions = try db.rows(
            """
            SELECT originalTransactionId, status, statusClock, subscriptionGroupIdentifier, renewal, renewalClock
            FROM subscription WHERE app = ? AND originalTransactionId IN (SELECT value FROM json_each(?))
            """, [app, list(originals)])
        let found = try intact(subscriptions) { row in
            (
                try row.text(0),
                StoredHistory.Subscription(
                    status: try row.optionalInteger(1), statusClock: try row.integer(2), group: try row.optionalText(3),
                    renewal: row.isNull(4) ? nil : row.jws(4), renewalClock: try row.integer(5))
            )
        }
        for (id, subscription) in found { history.subscriptions[id] = subscription }
        return history
    }
}

extension SQLiteStore {
    /// Stores the events of revocations that verifyReceipt reported, before the revocations are stored.
    static func insertEvents(
        revoked: [RevocationRow], valid: [String], app: Int64, in scope: AppScope, _ db: Database
    ) throws {
        var changes = RevocationEvents()
        for row in revoked {
            let stored = try date(ofRevocation: row.transactionId, app: app, in: db)
            guard stored != row.date.milliseconds else { continue }
            changes.add(row, of: try eventKey(ofRecord: row.transactionId, app: app, in: db))
        }
        for id in valid where try date(ofRevocation: id, app: app, in: db) != nil {
            changes.add(reversed: id, of: try eventKey(ofRecord: id, app: app, in: db))
        }
        try insert(changes.events, in: scope, WriteTransaction(db))
    }

    /// Returns the key of the customer with a transaction, of which nothing else may be known.
    private static func eventKey(ofRecord id: String, app: Int64, in db: Database) throws -> String {
        let rows = try db.rows(
            "SELECT originalTransactionId FROM transactionRecord WHERE transactionId = ? AND app = ?", [id, app])
        return try eventKey(of: id, intact(rows) { try $0.text(0) }.first ?? id, app: app, in: db)
    }

    static func date(ofRevocation id: String, app: Int64, in db: Database) throws -> Int64? {
        let rows = try db.rows("SELECT date FROM revocation WHERE transactionId = ? AND app = ?", [id, app])
        return try intact(rows) { try $0.integer(0) }.first
    }
}
