import Base
import PostgreSQLClient
package import Storage

/// The table of events.
///
/// Transactions commit in another order than they begin, so a reader that remembers the last sequence would miss the
/// events of a transaction that commits later with a lower one. Transaction ids do not help: they are assigned before
/// the locks of a customer, and sequences after them, so that sequences ascend in the order in which a customer changed.
/// So a transaction announces which sequences it may use, by a shared advisory lock that ends with it (``allocation``):
///
/// 1. The transaction reads the last sequence that was taken and locks that number.
/// 2. It takes the next sequence, which is higher.
///
/// ``eventHorizon()`` reads the last sequence first, and then the locks. A transaction that took a sequence before the
/// first read either has ended or holds a lock on a lower one, and one that takes a sequence later gets a higher one.
extension PostgreSQLStore: EventStore {
    /// - `events`: changes of customers (``EventRow``).
    /// - `eventSequence`: the first sequence of each transaction that adds events, in steps of the maximum number of
    ///   events in a transaction.
    /// - `customer.eventKey`: the key of the customer's events; `NULL` if none was stored since the column exists.
    static let eventsStep = SchemaStep(
        "events",
        [
            "CREATE SEQUENCE eventSequence INCREMENT BY \(eventsPerTransaction) START WITH \(eventsPerTransaction)",
            """
            CREATE TABLE events (
                sequence bigint PRIMARY KEY, time bigint NOT NULL, app text NOT NULL, environment text NOT NULL,
                customer text NOT NULL, type text NOT NULL, body text NOT NULL)
            """,
            "ALTER SEQUENCE eventSequence OWNED BY events.sequence",
            "CREATE INDEX eventsByCustomer ON events (customer, app)",
            "ALTER TABLE customer ADD COLUMN eventKey text",
        ])

    /// Maximum number of events of one transaction: the distance of two sequences of `eventSequence`.
    private static let eventsPerTransaction: Int64 = 1 << 10
    /// SQL expression of the last sequence that was taken.
    private static let lastSequence = "(last_value - CASE WHEN is_called THEN 0 ELSE \(eventsPerTransaction) END)"
    /// The numbers of locks repeat after this many transactions.
    private static let lockNumbers: Int64 = 1 << 31

    package func eventHorizon() async throws(StorageError) -> Int64 {
        // Each of these statements reads a snapshot of its own, in this order.
        let results = try await read([
            PostgreSQLQuery("SELECT \(Self.lastSequence) FROM eventSequence"),
            PostgreSQLQuery(
                """
                SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
                AND classid = 'eventSequence'::regclass::oid
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """),
        ])
        return try value { () throws(PostgreSQLError) in
            let last = try results[0].rows.first?.integer(0) ?? 0
            var horizon = last
            for row in results[1].rows {
                let age = ((last >> 10) - (try row.integer(0))) & (Self.lockNumbers - 1)
                // A lock on a later sequence than the one that was read.
                guard age < Self.lockNumbers / 2 else { continue }
                horizon = min(horizon, last - age * Self.eventsPerTransaction)
            }
            return horizon + Self.eventsPerTransaction - 1
        }
    }

    // MARK: - Parts

    /// Takes the sequences of a transaction, which a setting of the transaction holds. To be run after the locks of
    /// the customers and before every statement that inserts events.
    static let allocation = takingSequences()

    /// The same, with further columns in the statement.
    static func takingSequences(and columns: String...) -> SQLStatement {
        let columns = ["set_config('receipt_bridge.event', nextval('eventSequence')::text, true)"] + columns
        return SQLStatement(
            """
            WITH announced AS MATERIALIZED (
                SELECT pg_advisory_xact_lock_shared('eventSequence'::regclass::oid::int,
                    (\(lastSequence) >> 10 & \(lockNumbers - 1))::int) FROM eventSequence)
            SELECT \(columns.joined(separator: ", ")) FROM announced
            """)
    }

    /// SQL expression of the first sequence in the transaction that is not taken.
    static let firstEvent = "(current_setting('receipt_bridge.event')::bigint + 1)"

    /// SQL expression of the next sequence in the transaction.
    static let nextEvent = """
        set_config('receipt_bridge.event', \(firstEvent)::text, true)::bigint
        """

    /// The key of a customer's events. For one from before there were events, the smallest original transaction id.
    static let eventKey = """
        coalesce(customer.eventKey, (
            SELECT originalTransactionId FROM transactionRecord WHERE transactionRecord.customer = customer.id
            ORDER BY length(originalTransactionId), originalTransactionId COLLATE "C" LIMIT 1))
        """

    /// Returns the statement that inserts events in this order.
    static func insert(_ events: [CustomerEvent], in scope: AppScope) -> SQLStatement {
        SQLStatement(
            """
            INSERT INTO events (sequence, time, app, environment, customer, type, body)
            SELECT \(nextEvent), \(clock), $1, $2, customer, type, body
            FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS new (customer, type, body, position)
            ORDER BY position
            """, .text(scope.bundleId.rawValue), .text(scope.environment.rawValue), .texts(events.map(\.customer)),
            .texts(events.map(\.type.rawValue)), .texts(events.map(\.body)))
    }
}

/// The events of revocations that verifyReceipt reported.
extension PostgreSQLStore {
    /// Returns the events of changes that the database does not have yet. The slots of the transactions must be
    /// locked.
    static func events(
        revoked: [RevocationRow], valid: [String], app: Int64, in transaction: PostgreSQLTransaction
    ) async throws -> [CustomerEvent] {
        let ids = revoked.map(\.transactionId) + valid
        let rows = try await transaction.query(
            PostgreSQLQuery(
                """
                SELECT wanted.id, revocation.date, coalesce(
                    (SELECT \(eventKey) FROM customer WHERE customer.id = record.customer),
                    (SELECT \(eventKey) FROM customer WHERE customer.id = (
                        SELECT other.customer FROM transactionRecord AS other
                        WHERE other.originalTransactionId = record.originalTransactionId AND other.app = $1
                        AND other.customer IS NOT NULL LIMIT 1)),
                    record.originalTransactionId, wanted.id)
                FROM unnest($2::text[]) AS wanted (id)
                LEFT JOIN revocation ON revocation.transactionId = wanted.id AND revocation.app = $1
                LEFT JOIN transactionRecord AS record ON record.transactionId = wanted.id AND record.app = $1
                """, [.integer(app), .texts(ids)])
        ).rows
        var stored: [String: (date: Timestamp?, customer: String)] = [:]
        for row in rows { stored[try row.text(0)] = (try row.optionalTimestamp(1), try row.text(2)) }
        var changes = RevocationEvents()
        for row in revoked {
            let known = stored[row.transactionId]
            if known?.date != row.date { changes.add(row, of: known?.customer ?? row.transactionId) }
        }
        for id in valid {
            if let known = stored[id], known.date != nil { changes.add(reversed: id, of: known.customer) }
        }
        return changes.events
    }
}
