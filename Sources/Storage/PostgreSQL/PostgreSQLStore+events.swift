import ReceiptBridgeBase

/// The table of events.
///
/// Transactions commit in another order than they begin, so a reader that remembers the last sequence would miss the
/// events of a transaction that commits later with a lower one. Transaction ids do not help: they are assigned before
/// the locks of a customer, and sequences after them, so that sequences ascend in the order in which a customer
/// changed. So a transaction announces which sequences it may use, by a shared advisory lock that ends with it
/// (``allocation``):
///
/// 1. The transaction reads the last sequence that was taken and locks that number.
/// 2. It takes the next sequence, which is higher.
///
/// ``eventHorizon()`` reads the last sequence first, and then the locks. A transaction that took a sequence before the
/// first read either has ended or holds a lock on a lower one, and one that takes a sequence later gets a higher one.
extension PostgreSQLStore: EventStore {
    /// The distance of two sequences of `eventSequence`. Each of them is followed by a block of sequences of events.
    private static let distance: Int64 = 1 << 10
    /// Creates the sequence of the numbers before the blocks.
    static let eventSequence = """
        CREATE SEQUENCE eventSequence INCREMENT BY \(distance) START WITH \(distance) OWNED BY events.sequence
        """
    /// SQL expression of the last sequence that was taken.
    private static let lastSequence = "(last_value - CASE WHEN is_called THEN 0 ELSE \(distance) END)"
    /// The numbers of locks repeat after this many blocks.
    private static let lockNumbers: Int64 = 1 << 31

    package func eventHorizon() async throws(StorageError) -> Int64 {
        // Each of these statements reads a snapshot of its own, in this order.
        let results = try await rows(of: [
            SQLStatement("SELECT \(Self.lastSequence) FROM eventSequence"),
            SQLStatement(
                """
                SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
                AND classid = 'eventSequence'::regclass::oid
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """),
        ])
        let last = try results[0].first?.integer(0) ?? 0
        var horizon = last
        for row in results[1] {
            let age = (last / Self.distance - (try row.integer(0))) & (Self.lockNumbers - 1)
            // A lock on a later sequence than the one that was read.
            guard age < Self.lockNumbers / 2 else { continue }
            horizon = min(horizon, last - age * Self.distance)
        }
        return horizon + Self.distance - 1
    }

    // MARK: - Parts

    /// Takes a block of sequences, which a setting of the transaction holds. To be run after the locks of the customers
    /// and before each statement that inserts events.
    private static let allocation = SQLStatement(
        """
        WITH announced AS MATERIALIZED (
            SELECT pg_advisory_xact_lock_shared('eventSequence'::regclass::oid::int,
                (\(lastSequence) / \(distance) & \(lockNumbers - 1))::int) FROM eventSequence)
        SELECT set_config('receipt_bridge.event', nextval('eventSequence')::text, true) FROM announced
        """)

    package func insertions(of events: [CustomerEvent], in scope: AppScope) -> [SQLStatement] {
        let size = Int(Self.distance) - 1
        return stride(from: 0, to: events.count, by: size).flatMap { start in
            [Self.allocation, Self.insert(events[start...].prefix(size), in: scope)]
        }
    }

    /// Returns the statement that inserts events in this order, with the sequences of a block.
    private static func insert(_ events: ArraySlice<CustomerEvent>, in scope: AppScope) -> SQLStatement {
        SQLStatement(
            """
            INSERT INTO events (sequence, time, app, environment, customer, type, body)
            SELECT current_setting('receipt_bridge.event')::bigint + position, \(clock), $1, $2, customer, type, body
            FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS new (customer, type, body, position)
            ORDER BY position
            """, .text(scope.bundleId.rawValue), .text(scope.environment.rawValue), .texts(events.map(\.customer)),
            .texts(events.map(\.type.rawValue)), .texts(events.map(\.body)))
    }
}
