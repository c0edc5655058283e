package import Storage
import GRDB
import AppStoreTypes
import Cryptography

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
        try await read { try Int64.fetchOne($0, sql: "SELECT max(sequence) FROM events") ?? 0 }
    }

    package func events(
        after sequence: Int64, upTo horizon: Int64, limit: Int
    ) async throws(StorageError) -> [EventRow] {
        try await read { db in
            try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT sequence, time, app, environment, customer, type, body FROM events
                        WHERE sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?
                        """), arguments: [sequence, horizon, limit]
            ).map {
                EventRow(
                    sequence: $0[0], time: Timestamp(milliseconds: $0[1]), app: $0[2], environment: $0[3],
                    customer: $0[4], type: $0[5], body: $0[6])
            }
        }
    }

    // MARK: - Parts

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
            let key = try String.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT \(eventKey) FROM customer WHERE id = (
                            SELECT customer FROM transactionRecord
                            WHERE \(column) = ? AND app = ? AND customer IS NOT NULL LIMIT 1)
                        """), arguments: [value, app])
            if let key { return key }
        }
        return original
    }

    // MARK: - Lookups

    /// Reads what is stored of a customer, before the result of a lookup is stored.
    static func history(before row: CustomerRow, app: Int64, in db: Database) throws -> StoredHistory {
        var history = StoredHistory()
        let ids = list(row.transactions.map(\.transactionId))
        let records = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT record.transactionId, originalTransactionId, record.signedDate, customer, text,
                        webOrderLineItemId, date, reason, revocation.signedDate
                    FROM transactionRecord AS record LEFT JOIN revocation
                        ON revocation.transactionId = record.transactionId AND revocation.app = record.app
                    WHERE record.app = ? AND record.transactionId IN (SELECT value FROM json_each(?))
                    """), arguments: [app, ids])
        while let record = try records.next() {
            let date: Int64? = record[6]
            let signedDate: Int64? = record[8]
            history.records[record[0]] = StoredHistory.Record(
                originalTransactionId: record[1], signedDate: Timestamp(milliseconds: record[2]), customer: record[3],
                text: record[4],
                revocation: date.map {
                    RevocationRow(
                        transactionId: record[0], webOrderLineItemId: record[5], date: Timestamp(milliseconds: $0),
                        reason: record[7], signedDate: signedDate.map { Timestamp(milliseconds: $0) })
                })
        }
        history.keys = try String.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT \(eventKey) FROM customer WHERE id IN (
                        SELECT customer FROM transactionRecord
                        WHERE app = ? AND transactionId IN (SELECT value FROM json_each(?)) AND customer IS NOT NULL)
                    ORDER BY id
                    """), arguments: [app, ids])
        let originals = row.statuses.map(\.originalTransactionId) + row.renewals.map(\.originalTransactionId)
        let subscriptions = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT originalTransactionId, status, statusClock, subscriptionGroupIdentifier, renewal,
                        renewalClock
                    FROM subscription WHERE app = ? AND originalTransactionId IN (SELECT value FROM json_each(?))
                    """), arguments: [app, list(originals)])
        while let row = try subscriptions.next() {
            history.subscriptions[row[0]] = StoredHistory.Subscription(
                status: row[1], statusClock: row[2], group: row[3], renewal: row[4], renewalClock: row[5])
        }
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
        let original = try String.fetchOne(
            db.cachedStatement(
                sql: "SELECT originalTransactionId FROM transactionRecord WHERE transactionId = ? AND app = ?"),
            arguments: [id, app])
        return try eventKey(of: id, original ?? id, app: app, in: db)
    }

    private static func date(ofRevocation id: String, app: Int64, in db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT date FROM revocation WHERE transactionId = ? AND app = ?"),
            arguments: [id, app])
    }
}

extension CustomerDataLocator {
    /// The keys under which events of the customer were stored, and under which the next one would be.
    func eventKeys(in db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT customer FROM events WHERE \(ErasureRule.events)
                UNION SELECT \(SQLiteStore.eventKey) FROM customer WHERE id IN (SELECT value FROM json_each(:customers))
                    AND eventKey IS NOT NULL
                ORDER BY 1
                """, arguments: arguments)
    }
}

extension SQLiteStore {
    /// The text that stands for the key of an erased customer. A consumer that has the events of the customer can
    /// compute it; the key itself would be the data that was to be erased.
    static func digest(ofKey key: String) -> String { "sha256:" + SHA.hex(Array(key.utf8), with: .sha256) }
}
