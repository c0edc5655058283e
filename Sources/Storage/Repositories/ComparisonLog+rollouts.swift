package import ReceiptBridgeBase

/// The rollouts of apps: when each began, and whether it has stopped itself. How many customers differ is read from the
/// compared customers, and kept once a rollout has stopped. In the statements, `$1` and `$2` are the key.
extension ComparisonLog {
    /// Returns a rollout. One that is not stored yet starts now.
    package func rollout(_ key: RolloutKey, at now: Timestamp) async throws(StorageError) -> StoredRollout {
        if let stored = try await read(find(key), StoredRollout.read).first { return stored }
        let started = try await write([start(key, at: now), find(key)], StoredRollout.read)
        return started.first ?? StoredRollout(startedAt: now)
    }

    /// Stops a rollout permanently. A rollout that has stopped already keeps the time and the counts.
    package func stop(_ key: RolloutKey, at now: Timestamp) async throws(StorageError) -> StoredRollout {
        let stop = SQLStatement(
            """
            UPDATE rollout SET stoppedAt = \(dialect.now("$3")), (compared, different) = \(Self.counts)
            WHERE bundleId = $1 AND block = $2 AND stoppedAt IS NULL
            """, key.values + [SQLValue(now)])
        return try await write([start(key, at: now), stop, find(key)], StoredRollout.read).first
            ?? StoredRollout(startedAt: now, stoppedAt: now)
    }

    private static var counts: String {
        """
        (SELECT count(*) AS compared, count(*) FILTER (WHERE isDifferent) AS different FROM comparedCustomer
            WHERE bundleId = $1 AND block = $2)
        """
    }

    private func start(_ key: RolloutKey, at now: Timestamp) -> SQLStatement {
        SQLStatement(
            """
            INSERT INTO rollout (bundleId, block, startedAt, compared, different)
            VALUES ($1, $2, \(dialect.now("$3")), 0, 0) ON CONFLICT (bundleId, block) DO NOTHING
            """, key.values + [SQLValue(now)])
    }

    private func find(_ key: RolloutKey) -> SQLStatement {
        SQLStatement(
            """
            SELECT startedAt, stoppedAt,
                CASE WHEN stoppedAt IS NULL THEN counted.compared ELSE rollout.compared END,
                CASE WHEN stoppedAt IS NULL THEN counted.different ELSE rollout.different END
            FROM rollout, \(Self.counts) AS counted WHERE bundleId = $1 AND block = $2
            """, key.values)
    }

}

extension StoredRollout {
    @Sendable fileprivate static func read(_ row: some SQLRow) throws(StorageError) -> StoredRollout? {
        StoredRollout(
            startedAt: try row.timestamp(0), stoppedAt: try row.optionalTimestamp(1), compared: try row.count(2),
            different: try row.count(3))
    }
}

extension RolloutKey {
    fileprivate var values: [SQLValue] { [.text(bundleId.rawValue), .text(block)] }
}
