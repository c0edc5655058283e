import ReceiptBridgeBase

/// Work that only one worker does at a time. The raw values are the numbers of the rows in `importChunk`.
package enum ImportTask: Int64, Sendable {
    /// Divides the source into chunks. It has ended when the last chunk is stored.
    case plan = -1
    /// Merges customers that are the same. It has ended when all are merged.
    case resolve = -2
    /// Looks up customers. It never ends.
    case ask = -3
}

/// The right to read a chunk or to do a task until the lease expires. Another worker gets it afterwards, with a higher
/// term. A lease that expired still counts if no other worker has claimed it, so that no results of an outage are lost.
package struct ImportLease: Sendable, Hashable {
    package let run: Int64
    package let number: Int64
    let holder: String
    let term: Int64
    /// The chunk; `nil` for a task.
    package let chunk: ImportChunk?

    /// The condition that no other worker has claimed it since, for ``values``.
    static let isOurs = "run = $1 AND number = $2 AND holder = $3 AND term = $4 AND state = 1"

    var values: [SQLValue] { [.integer(run), .integer(number), .text(holder), .integer(term)] }

    /// The statement, at the beginning of a transaction, that selects a row while this worker has the lease, and
    /// prevents that another one claims it before the end of the transaction.
    func hold(_ dialect: SQLDialect) -> SQLStatement {
        SQLStatement("SELECT 1 FROM importChunk WHERE \(Self.isOurs) \(dialect.lockingShared)", values)
    }

    /// The statement that marks a chunk or a task as ended.
    func end(counts: String? = nil) -> SQLStatement {
        SQLStatement("UPDATE importChunk SET state = 2, counts = $5 WHERE \(Self.isOurs)", values + [SQLValue(counts)])
    }
}

extension ImportStore {
    /// Returns the lease of a task if no other worker has it and it has not ended, otherwise `nil`.
    package func claim(
        _ task: ImportTask, of run: Int64, for holder: String, lasting duration: Duration
    ) async throws(StorageError) -> ImportLease? {
        try await claim("number = \(task.rawValue)", "OR holder = $2", run, holder, duration)
    }

    /// Returns the lease of the next chunk that no worker reads; `nil` if there is none at the moment.
    package func claimChunk(
        of run: Int64, _ shard: ImportShard, for holder: String, lasting duration: Duration
    ) async throws(StorageError) -> ImportLease? {
        try await claim(shard.condition, "", run, holder, duration)
    }

    private func claim(
        _ condition: String, _ isFree: String, _ run: Int64, _ holder: String, _ duration: Duration
    ) async throws(StorageError) -> ImportLease? {
        let now = dialect.now("$4")
        return try await write([
            SQLStatement(
                """
                UPDATE importChunk SET state = 1, holder = $2, term = term + 1, expiresAt = \(now) + $3
                WHERE run = $1 AND number = (
                    SELECT number FROM importChunk
                    WHERE run = $1 AND state < 2 AND (state = 0 OR expiresAt <= \(now) \(isFree)) AND \(condition)
                    ORDER BY number LIMIT 1 \(dialect.lockingFree))
                RETURNING number, term, first, last, rows
                """, .integer(run), .text(holder), .integer(duration.inMilliseconds), SQLValue(Timestamp.now))
        ]) { (row) throws(StorageError) in
            ImportLease(
                run: run, number: try row.rowID(0), holder: holder, term: try row.integer(1),
                chunk: try Self.chunk(in: row, at: 2))
        }.first
    }

    /// Returns the chunk in the columns `first`, `last` and `rows`; `nil` for a task.
    fileprivate static func chunk(in row: Row, at column: Int) throws(StorageError) -> ImportChunk? {
        guard let last = try row.optionalText(column + 1) else { return nil }
        return ImportChunk(first: try row.optionalText(column), last: last, rows: try row.optionalInteger(column + 2))
    }

    /// Extends leases. Returns those that this worker still has.
    package func renew(
        _ leases: [ImportLease], lasting duration: Duration
    ) async throws(StorageError) -> Set<ImportLease> {
        let statements = leases.map { lease in
            SQLStatement(
                """
                UPDATE importChunk SET expiresAt = \(dialect.now("$6")) + $5 WHERE \(ImportLease.isOurs) RETURNING number
                """, lease.values + [.integer(duration.inMilliseconds), SQLValue(Timestamp.now)])
        }
        return Set(try await write(statements) { (index, _) throws(StorageError) in leases[index] })
    }

    /// Lets another worker take over at once.
    package func release(_ lease: ImportLease) async throws(StorageError) {
        try await write([SQLStatement("UPDATE importChunk SET state = 0 WHERE \(ImportLease.isOurs)", lease.values)])
    }
}

// MARK: - Chunks

/// How far the reading of an import is.
package struct ImportChunkTally: Sendable, Hashable {
    /// Whether the source has been divided completely.
    package let isPlanned: Bool
    package let all: Int64
    /// Chunks of the shard that have not ended, those of other workers included.
    package let open: Int64

    package var isComplete: Bool { isPlanned && open == 0 }
}

extension ImportStore {
    /// Returns whether a task has ended.
    package func hasEnded(_ task: ImportTask, of run: Int64) async throws(StorageError) -> Bool {
        try await read(
            SQLStatement(
                "SELECT state = 2 FROM importChunk WHERE run = $1 AND number = $2", .integer(run),
                .integer(task.rawValue))
        ) { (row) throws(StorageError) in try row.boolean(0) }.first ?? false
    }

    /// Returns the last chunk and its number; `nil` before the first one.
    package func lastChunk(of run: Int64) async throws(StorageError) -> (number: Int64, chunk: ImportChunk)? {
        try await read(
            SQLStatement(
                """
                SELECT number, first, last, rows FROM importChunk WHERE run = $1 AND number >= 0
                ORDER BY number DESC LIMIT 1
                """, .integer(run))
        ) { (row) throws(StorageError) -> (number: Int64, chunk: ImportChunk)? in
            guard let chunk = try Self.chunk(in: row, at: 1) else { return nil }
            return (try row.rowID(0), chunk)
        }.first
    }

    /// Adds chunks, and with the last ones the end of the task. Nothing is added if another worker has the task.
    package func add(
        _ chunks: [(number: Int64, chunk: ImportChunk)], areLast: Bool, _ lease: ImportLease
    ) async throws(StorageError) {
        let rows = chunks.map { number, chunk -> [SQLValue] in
            [.integer(lease.run), .integer(number), SQLValue(chunk.first), .text(chunk.last), SQLValue(chunk.rows)]
        }
        let statements = dialect.insert(
            rows, into: .importChunk, "run, number, first, last, rows", "ON CONFLICT DO NOTHING")
        try await transaction(
            SQLStep<Row, Void>.run([lease.hold(dialect)]) { found in
                found[0].isEmpty ? .end(()) : .end((), after: statements + (areLast ? [lease.end()] : []))
            })
    }

    /// Returns how many chunks of a shard have ended; `nil` if the import was deleted.
    package func tally(of run: Int64, _ shard: ImportShard) async throws(StorageError) -> ImportChunkTally? {
        try await read(
            SQLStatement(
                """
                SELECT state = 2, (SELECT coalesce(max(number) + 1, 0) FROM importChunk WHERE run = $1 AND number >= 0),
                    (SELECT count(*) FROM importChunk WHERE run = $1 AND state < 2 AND \(shard.condition))
                FROM importChunk WHERE run = $1 AND number = \(ImportTask.plan.rawValue)
                """, .integer(run))
        ) { (row) throws(StorageError) in
            ImportChunkTally(isPlanned: try row.boolean(0), all: try row.count(1), open: try row.count(2))
        }.first
    }

    /// Returns the counts of ended chunks of a shard after one, with their numbers.
    package func counts(
        of run: Int64, _ shard: ImportShard, after number: Int64
    ) async throws(StorageError) -> [(number: Int64, counts: String)] {
        try await read(
            SQLStatement(
                """
                SELECT number, counts FROM importChunk WHERE run = $1 AND number > $2 AND state = 2 AND \(shard.condition)
                ORDER BY number LIMIT 1000
                """, .integer(run), .integer(number))
        ) { (row) throws(StorageError) in (try row.rowID(0), try row.text(1)) }
    }
}
