import ReceiptBridgeBase

extension PostgreSQLStore: LeaseStore {
    /// SQL of the database's clock, in milliseconds since 1970. Two calls in one statement can differ.
    static let clock = dialect.now("")

    package func claim(
        _ task: SharedTask, for holder: String, lasting duration: Duration
    ) async throws(StorageError) -> TaskLease? {
        let isHeld = dialect.isLeased("lease.expiresAt", after: Self.clock, at: Self.clock)
        return try await write([
            SQLStatement(
                """
                INSERT INTO lease (name, holder, term, expiresAt) VALUES ($1, $2, 1, \(Self.clock) + $3)
                ON CONFLICT (name) DO UPDATE SET
                    holder = excluded.holder, expiresAt = excluded.expiresAt, term = \(dialect.count("lease.term"))
                        + (lease.holder <> excluded.holder OR NOT \(isHeld))::int
                    WHERE lease.holder = excluded.holder OR NOT \(isHeld)
                RETURNING term, expiresAt
                """, .text(task.rawValue), .text(holder), .integer(duration.inMilliseconds))
        ]) { (row) throws(StorageError) in
            TaskLease(task: task, holder: holder, term: try row.integer(0), expiresAt: try row.timestamp(1))
        }.first
    }
}
