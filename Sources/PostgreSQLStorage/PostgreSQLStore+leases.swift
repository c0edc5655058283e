import AppStoreTypes
import PostgreSQLClient
package import Storage

extension PostgreSQLStore: LeaseStore {
    /// SQL of the database's clock, in milliseconds since 1970. Two calls in one statement can differ.
    static let clock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    package func claim(
        _ task: SharedTask, for holder: String, lasting duration: Duration
    ) async throws(StorageError) -> TaskLease? {
        let results = try await write([
            PostgreSQLQuery(
                """
                INSERT INTO lease (name, holder, term, expiresAt) VALUES ($1, $2, 1, \(Self.clock) + $3)
                ON CONFLICT (name) DO UPDATE SET
                    holder = excluded.holder, expiresAt = excluded.expiresAt, term = lease.term
                        + (lease.holder <> excluded.holder OR lease.expiresAt <= \(Self.clock))::int
                    WHERE lease.holder = excluded.holder OR lease.expiresAt <= \(Self.clock)
                RETURNING term, expiresAt
                """, [.text(task.rawValue), .text(holder), .integer(duration.inMilliseconds)])
        ])
        return try lease(task, holder, in: results[0])
    }

    package func renew(_ lease: TaskLease, lasting duration: Duration) async throws(StorageError) -> TaskLease? {
        let results = try await write([
            PostgreSQLQuery(
                """
                UPDATE lease SET expiresAt = \(Self.clock) + $4 WHERE name = $1 AND holder = $2 AND term = $3
                RETURNING term, expiresAt
                """, Self.arguments(lease) + [.integer(duration.inMilliseconds)])
        ])
        return try self.lease(lease.task, lease.holder, in: results[0])
    }

    package func release(_ lease: TaskLease) async throws(StorageError) {
        try await write([
            // Without a holder, so that a renewal which arrives later extends nothing.
            PostgreSQLQuery(
                "UPDATE lease SET holder = '', expiresAt = 0 WHERE name = $1 AND holder = $2 AND term = $3",
                Self.arguments(lease))
        ])
    }

    private static func arguments(_ lease: TaskLease) -> [PostgreSQLValue] {
        [.text(lease.task.rawValue), .text(lease.holder), .integer(lease.term)]
    }

    private func lease(
        _ task: SharedTask, _ holder: String, in result: PostgreSQLResult
    ) throws(StorageError) -> TaskLease? {
        try value { () throws(PostgreSQLError) in
            try result.rows.first.map { row throws(PostgreSQLError) in
                TaskLease(task: task, holder: holder, term: try row.integer(0), expiresAt: try row.timestamp(1))
            }
        }
    }
}

extension Duration {
    /// Whole milliseconds.
    var inMilliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}
