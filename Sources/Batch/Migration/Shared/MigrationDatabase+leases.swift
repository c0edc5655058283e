import Base
import PostgreSQLClient

/// Work that only one worker does at a time.
enum SharedWork: String, Sendable, Hashable, CaseIterable {
    /// Divides the source into chunks.
    case plan
    /// Merges customers that are the same.
    case resolve
    /// Looks up customers.
    case ask
}

/// The right to do a work until the lease expires. Another worker gets it afterwards, with a higher term.
struct WorkLease: Sendable, Hashable {
    let migration: Int64
    let work: SharedWork
    let holder: String
    let term: Int64

    /// The condition that the lease has not passed to another worker, for the arguments ``arguments``. A lease that
    /// expired during an outage of the database still counts if no other worker has claimed it, so that no results are
    /// lost.
    static let condition = """
        EXISTS (SELECT 1 FROM migrationLease AS held WHERE held.migration = $1 AND held.task = $2 AND held.holder = $3
            AND held.term = $4)
        """

    var arguments: [PostgreSQLValue] { [.integer(migration), .text(work.rawValue), .text(holder), .integer(term)] }
}

extension MigrationDatabase {
    /// Returns the lease if no other worker has it, otherwise `nil`.
    func claim(_ work: SharedWork, of migration: Int64) async throws(RunError) -> WorkLease? {
        try await rows(
            """
            INSERT INTO migrationLease (migration, task, holder, term, expiresAt) VALUES ($1, $2, $3, 1, \(Self.clock) + $4)
            ON CONFLICT (migration, task) DO UPDATE SET
                holder = excluded.holder, expiresAt = excluded.expiresAt, term = migrationLease.term + 1
                WHERE migrationLease.expiresAt <= \(Self.clock) OR migrationLease.holder = excluded.holder
            RETURNING term
            """, [.integer(migration), .text(work.rawValue), .text(worker), .integer(lease.inMilliseconds)]
        ) { WorkLease(migration: migration, work: work, holder: worker, term: try $0.integer(0)) }.first
    }

    /// Extends leases.
    ///
    /// - Returns: Those that this worker still has.
    func renew(_ leases: [WorkLease], chunks: [ChunkLease]) async throws(RunError) -> (Set<WorkLease>, Set<ChunkLease>)
    {
        let expiry = PostgreSQLValue.integer(lease.inMilliseconds)
        let workQueries = leases.map {
            PostgreSQLQuery(
                """
                UPDATE migrationLease SET expiresAt = \(Self.clock) + $5
                WHERE migration = $1 AND task = $2 AND holder = $3 AND term = $4 RETURNING term
                """, $0.arguments + [expiry])
        }
        let chunkQueries = chunks.map {
            PostgreSQLQuery(
                """
                UPDATE migrationChunk SET expiresAt = \(Self.clock) + $5
                WHERE migration = $1 AND number = $2 AND holder = $3 AND term = $4 AND state = 1 RETURNING term
                """, $0.arguments + [expiry])
        }
        let results = try await run(workQueries + chunkQueries)
        var kept: (Set<WorkLease>, Set<ChunkLease>) = ([], [])
        for (lease, result) in zip(leases, results) where !result.rows.isEmpty { kept.0.insert(lease) }
        for (lease, result) in zip(chunks, results.dropFirst(leases.count)) where !result.rows.isEmpty {
            kept.1.insert(lease)
        }
        return kept
    }

    /// Lets another worker take over at once. The lease has no holder then, so that a renewal which arrives later
    /// extends nothing.
    func release(_ lease: WorkLease) async throws(RunError) {
        try await run(
            """
            UPDATE migrationLease SET holder = '', expiresAt = 0
            WHERE migration = $1 AND task = $2 AND holder = $3 AND term = $4
            """, lease.arguments)
    }
}
