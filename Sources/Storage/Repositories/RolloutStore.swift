package import Base

/// The rollouts of apps: which customers were compared, and which rollouts have stopped themselves.
package protocol RolloutStore: SQLEngine {}

extension RolloutStore {
    /// Returns a rollout. One that is not stored yet starts now.
    package func rollout(_ key: RolloutKey, at now: Timestamp) async throws(StorageError) -> StoredRollout {
        if let stored = try await read(RolloutSQL.find(key), RolloutSQL.state(of:)).first { return stored }
        let started = try await write(
            [RolloutSQL.start(key, at: now, dialect), RolloutSQL.find(key)], RolloutSQL.state(of:))
        return started.first ?? StoredRollout(startedAt: now)
    }

    /// Adds customers that were compared. A customer is stored once, and stays different once it was. Adding the same
    /// customers again changes nothing but the time of their comparison.
    ///
    /// - Parameters:
    ///   - limit: maximum number of customers of the rollout. Those that were compared longest ago are deleted.
    ///   - now: the time of the comparison, which decides only about that order.
    /// - Returns: the rollout with these customers.
    package func add(
        _ customers: [RolloutCustomer], to key: RolloutKey, limit: Int, at now: Timestamp
    ) async throws(StorageError) -> StoredRollout {
        // Servers that add at the same time wait here, so that the last one counts the customers of all.
        let locks = locks(of: ["rollout \(key.bundleId.rawValue) \(key.block)"], app: 0)
        let added = customers.map { RolloutSQL.add($0, to: key, at: now, dialect) }
        let statements =
            locks + [RolloutSQL.start(key, at: now, dialect)] + added
            + [RolloutSQL.deleteOldest(of: key, downTo: limit, dialect), RolloutSQL.count(key), RolloutSQL.find(key)]
        return try await write(statements, RolloutSQL.state(of:)).first ?? StoredRollout(startedAt: now)
    }

    /// Stops a rollout permanently. A rollout that has stopped already keeps the time.
    package func stop(_ key: RolloutKey, at now: Timestamp) async throws(StorageError) -> StoredRollout {
        let statements = [
            RolloutSQL.start(key, at: now, dialect), RolloutSQL.stop(key, at: now, dialect), RolloutSQL.find(key),
        ]
        return try await write(statements, RolloutSQL.state(of:)).first ?? StoredRollout(startedAt: now, stoppedAt: now)
    }
}

/// The statements of rollouts. `$1` and `$2` are the key.
private enum RolloutSQL {
    static let id = "(SELECT id FROM rollout WHERE bundleId = $1 AND block = $2)"

    static func statement(_ sql: String, _ key: RolloutKey, _ values: SQLValue...) -> SQLStatement {
        SQLStatement(sql, [.text(key.bundleId.rawValue), .text(key.block)] + values)
    }

    static func start(_ key: RolloutKey, at now: Timestamp, _ dialect: SQLDialect) -> SQLStatement {
        statement(
            """
            INSERT INTO rollout (bundleId, block, startedAt, compared, different)
            VALUES ($1, $2, \(dialect.now("$3")), 0, 0) ON CONFLICT (bundleId, block) DO NOTHING
            """, key, SQLValue(now))
    }

    static func add(
        _ customer: RolloutCustomer, to key: RolloutKey, at now: Timestamp, _ dialect: SQLDialect
    ) -> SQLStatement {
        statement(
            """
            INSERT INTO rolloutCustomer (rollout, environment, customer, isDifferent, comparedAt)
            VALUES (\(id), $3, $4, $5, $6)
            ON CONFLICT (rollout, environment, customer) DO UPDATE SET
                isDifferent = rolloutCustomer.isDifferent OR excluded.isDifferent,
                comparedAt = \(dialect.greatest(dialect.time("rolloutCustomer.comparedAt"), "excluded.comparedAt"))
            """, key, .text(customer.environment), .integer(customer.digest), .boolean(customer.isDifferent),
            SQLValue(now))
    }

    /// Deletes the customers that were compared longest ago.
    static func deleteOldest(of key: RolloutKey, downTo limit: Int, _ dialect: SQLDialect) -> SQLStatement {
        statement(
            """
            DELETE FROM rolloutCustomer WHERE rollout = \(id) AND (environment, customer) IN (
                SELECT environment, customer FROM rolloutCustomer WHERE rollout = \(id)
                ORDER BY comparedAt DESC, environment DESC, customer DESC \(dialect.offset("$3")))
            """, key, .integer(Int64(limit)))
    }

    static func count(_ key: RolloutKey) -> SQLStatement {
        statement(
            """
            UPDATE rollout SET (compared, different) = (
                SELECT count(*), count(*) FILTER (WHERE isDifferent) FROM rolloutCustomer
                WHERE rolloutCustomer.rollout = rollout.id)
            WHERE bundleId = $1 AND block = $2
            """, key)
    }

    static func stop(_ key: RolloutKey, at now: Timestamp, _ dialect: SQLDialect) -> SQLStatement {
        statement(
            """
            UPDATE rollout SET stoppedAt = coalesce(stoppedAt, \(dialect.now("$3"))) WHERE bundleId = $1 AND block = $2
            """, key, SQLValue(now))
    }

    static func find(_ key: RolloutKey) -> SQLStatement {
        statement(
            """
            SELECT startedAt, stoppedAt, compared, different FROM rollout WHERE bundleId = $1 AND block = $2
            """, key)
    }

    @Sendable static func state(of row: some SQLRow) throws(StorageError) -> StoredRollout? {
        StoredRollout(
            startedAt: try row.timestamp(0), stoppedAt: try row.optionalTimestamp(1), compared: try row.count(2),
            different: try row.count(3))
    }
}
