import Base
package import Storage

extension PostgreSQLStore: LeaseStore {
    /// SQL of the database's clock, in milliseconds since 1970. Two calls in one statement can differ.
    static let clock = dialect.now("")

    package func claim(
        _ task: SharedTask, for holder: String, lasting duration: Duration
    ) async throws(StorageError) -> TaskLease? {
        try await write([
            SQLStatement(
                """
                INSERT INTO lease (name, holder, term, expiresAt) VALUES ($1, $2, 1, \(Self.clock) + $3)
                ON CONFLICT (name) DO UPDATE SET
                    holder = excluded.holder, expiresAt = excluded.expiresAt, term = lease.term
                        + (lease.holder <> excluded.holder OR lease.expiresAt <= \(Self.clock))::int
                    WHERE lease.holder = excluded.holder OR lease.expiresAt <= \(Self.clock)
                RETURNING term, expiresAt
                """, .text(task.rawValue), .text(holder), .integer(duration.inMilliseconds))
        ]) { (row) throws(StorageError) in
            TaskLease(task: task, holder: holder, term: try row.integer(0), expiresAt: try row.timestamp(1))
        }.first
    }
}
