import Base
import Foundation
import PostgreSQLClient
import Reports
import Storage

/// A chunk that this worker reads until the lease expires.
struct ChunkLease: Sendable, Hashable {
    let migration: Int64
    let number: Int64
    let holder: String
    let term: Int64
    let chunk: SourceChunk

    var arguments: [PostgreSQLValue] { [.integer(migration), .integer(number), .text(holder), .integer(term)] }
}

/// How far the reading of a migration is.
struct ChunkTally: Sendable, Hashable {
    /// Whether the source has been divided completely.
    var isPlanned: Bool
    var all: Int64
    /// Chunks that have not ended, those of another worker included.
    var open: Int64

    var isComplete: Bool { isPlanned && open == 0 }
}

extension MigrationDatabase {
    // MARK: Planning

    /// Returns the last chunk and its number; `nil` before the first one.
    func lastChunk(of migration: Int64) async throws(RunError) -> (number: Int64, chunk: SourceChunk)? {
        try await rows(
            """
            SELECT number, first, last, rows FROM migrationChunk WHERE migration = $1 ORDER BY number DESC LIMIT 1
            """, [.integer(migration)]
        ) { row in
            (try row.integer(0), try Self.chunk(in: row, at: 1))
        }.first
    }

    /// Adds chunks, and with them the mark that they are the last ones. Nothing is added if the lease has passed to
    /// another worker.
    func add(
        _ chunks: [(number: Int64, chunk: SourceChunk)], areLast: Bool, _ lease: WorkLease
    ) async throws(RunError) {
        var queries = chunks.map { number, chunk in
            PostgreSQLQuery(
                """
                INSERT INTO migrationChunk (migration, number, first, last, rows)
                SELECT $1, $5, $6, $7, $8::bigint WHERE \(WorkLease.condition) ON CONFLICT (migration, number) DO NOTHING
                """,
                lease.arguments + [
                    .integer(number), .text(chunk.first ?? ""), .text(chunk.last),
                    .integer(chunk.rows ?? -1),
                ])
        }
        if areLast {
            queries.append(
                PostgreSQLQuery(
                    "UPDATE migration SET isPlanned = true WHERE id = $1 AND \(WorkLease.condition)", lease.arguments))
        }
        try await run(queries)
    }

    // MARK: Reading

    /// Returns the next chunk that no worker reads; `nil` if there is none at the moment.
    func claimChunk(
        of migration: Int64, _ shard: SharedMigrationOptions.Shard
    ) async throws(RunError) -> ChunkLease? {
        try await rows(
            """
            UPDATE migrationChunk SET state = 1, holder = $2, term = term + 1, expiresAt = \(Self.clock) + $3
            WHERE migration = $1 AND number = (
                SELECT number FROM migrationChunk
                WHERE migration = $1 AND state < 2 AND (state = 0 OR expiresAt <= \(Self.clock))
                    AND number % $4::bigint = $5::bigint
                ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING number, term, first, last, rows
            """,
            [
                .integer(migration), .text(worker), .integer(lease.inMilliseconds), .integer(shard.count),
                .integer(shard.index),
            ]
        ) { row in
            ChunkLease(
                migration: migration, number: try row.integer(0), holder: worker, term: try row.integer(1),
                chunk: try Self.chunk(in: row, at: 2))
        }.first
    }

    /// Returns the chunk in three columns: `first`, which is empty at the beginning of the source, `last`, and `rows`,
    /// which is -1 if they were not counted.
    private static func chunk(in row: PostgreSQLRow, at column: Int) throws -> SourceChunk {
        let (first, rows) = (try row.text(column), try row.integer(column + 2))
        return SourceChunk(
            first: first.isEmpty ? nil : first, last: try row.text(column + 1), rows: rows < 0 ? nil : rows)
    }

    /// Returns a chunk that this worker does not read to the end.
    func release(_ lease: ChunkLease) async throws(RunError) {
        try await run(
            """
            UPDATE migrationChunk SET state = 0 WHERE migration = $1 AND number = $2 AND holder = $3 AND term = $4
                AND state = 1
            """, lease.arguments)
    }

    /// The statement that marks a chunk as ended. It changes no row if the lease has passed to another worker.
    func end(_ lease: ChunkLease, counts: MigrationCounts) throws -> PostgreSQLQuery {
        let text = String(decoding: try JSONEncoder().encode(counts), as: UTF8.self)
        return PostgreSQLQuery(
            """
            UPDATE migrationChunk SET state = 2, counts = $5
            WHERE migration = $1 AND number = $2 AND holder = $3 AND term = $4 AND state = 1 RETURNING number
            """, lease.arguments + [.text(text.withoutNull)])
    }

    /// Returns how many chunks of a shard have ended.
    func tally(of migration: Int64, _ shard: SharedMigrationOptions.Shard) async throws(RunError) -> ChunkTally {
        let tally = try await rows(
            """
            SELECT isPlanned, (SELECT coalesce(max(number) + 1, 0) FROM migrationChunk WHERE migration = $1),
                (SELECT count(*) FROM migrationChunk WHERE migration = $1 AND state < 2
                    AND number % $2::bigint = $3::bigint)
            FROM migration WHERE id = $1
            """, [.integer(migration), .integer(shard.count), .integer(shard.index)]
        ) { ChunkTally(isPlanned: try $0.boolean(0), all: try $0.integer(1), open: try $0.integer(2)) }.first
        guard let tally else {
            throw .notPossible("this migration was started over by another worker; run the same command again")
        }
        return tally
    }

    /// Returns the sum of the counts of all ended chunks of a shard.
    func counts(
        of migration: Int64, _ shard: SharedMigrationOptions.Shard
    ) async throws(RunError) -> MigrationCounts {
        var sum = MigrationCounts()
        var last: Int64 = -1
        while true {
            let chunks = try await rows(
                """
                SELECT number, counts FROM migrationChunk WHERE migration = $1 AND number > $4 AND state = 2
                    AND number % $2::bigint = $3::bigint
                ORDER BY number LIMIT 1000
                """, [.integer(migration), .integer(shard.count), .integer(shard.index), .integer(last)]
            ) { (try $0.integer(0), try $0.text(1)) }
            for (number, text) in chunks {
                last = number
                guard let counts = try? StoredJSON.decode(MigrationCounts.self, from: Array(text.utf8)) else {
                    throw .notPossible("the counts of chunk \(number) in the database \(place) are damaged")
                }
                sum.add(counts)
            }
            if chunks.isEmpty { return sum }
        }
    }
}
