package import ReceiptBridgeBase

extension PostgreSQLStore: ClusterStore {
    /// How long changes are kept, in milliseconds. A server that did not read for longer has a gap.
    private static let changeLifetime: Int64 = 300_000
    /// How long before a position the feed is read again, in milliseconds: longer than any transaction with a change.
    private static let overlap: Int64 = 10_000
    /// Maximum number of changes of one page, and of rows that one call deletes.
    private static let pageSize: Int64 = 5_000
    /// How long lookups and servers are kept, in milliseconds.
    private static let claimLifetime = Duration.hours(1).inMilliseconds

    /// Returns the statement that adds a change to the feed. It belongs into the transaction that stores the data.
    func add(_ change: StoredChange, app: Int64) -> SQLStatement {
        SQLStatement(
            """
            INSERT INTO change (createdAt, writer, app, kind, identifiers, transactionIds)
            VALUES (\(Self.clock), $1, $2, $3, $4, $5)
            """, .integer(writer), .integer(app), .integer(change.kind.rawValue), .texts(change.identifiers),
            .texts(change.transactionIds))
    }

    package func changes(since position: ChangePosition?) async throws(StorageError) -> ChangePage {
        let start = position.map { $0.readAt.milliseconds - Self.overlap } ?? 0
        let results = try await rows(of: [
            // Read first: a change that commits after this statement is read again.
            SQLStatement("SELECT \(Self.clock)"),
            SQLStatement(
                """
                SELECT change.id, createdAt, bundleId, environment, kind, identifiers, transactionIds
                FROM change JOIN app ON app.id = change.app
                WHERE createdAt >= $1 AND \(dialect.isTime("createdAt")) AND writer <> $2
                    AND NOT EXISTS (SELECT 1 FROM unnest($3::bigint[]) AS returned (id) WHERE returned.id = change.id)
                ORDER BY createdAt, change.id LIMIT $4
                """,
                .integer(start), .integer(writer), .integers(Array(position?.returned.keys ?? [:].keys)),
                .integer(Self.pageSize)),
        ])
        let now = try results[0].first?.timestamp(0) ?? Timestamp(milliseconds: 0)
        let found = results[1]
        let hasMore = Int64(found.count) == Self.pageSize
        let readAt = hasMore ? try found[found.count - 1].timestamp(1) : now
        var returned = position?.returned ?? [:]
        var changes: [StoredChange] = []
        for row in found {
            returned[try row.rowID(0)] = try row.timestamp(1)
            guard let scope = try row.scope(2, 3),
                let kind = try intact(row, { (row) throws(StorageError) in try row.integer(4) })
                    .flatMap(StoredChange.Kind.init(rawValue:))
            else { continue }
            changes.append(StoredChange(kind, of: try row.texts(5), transactions: try row.texts(6), in: scope))
        }
        returned = returned.filter { $0.value.milliseconds >= readAt.milliseconds - Self.overlap }
        let age = position.map { now.milliseconds - $0.readAt.milliseconds } ?? 0
        return ChangePage(
            changes: changes, position: ChangePosition(readAt: readAt, returned: returned),
            hasGap: age > Self.changeLifetime - Self.overlap, hasMore: hasMore, time: now)
    }

    package func expireChanges() async throws(StorageError) {
        func delete(_ table: String, _ key: String, _ time: String, _ age: Int64) -> SQLStatement {
            SQLStatement(
                """
                DELETE FROM \(table) WHERE (\(key)) IN (
                    SELECT \(key) FROM \(table) WHERE \(time) < \(Self.clock) - $1 OR NOT \(dialect.isTime(time))
                    ORDER BY \(key) LIMIT $2 FOR UPDATE SKIP LOCKED)
                """, .integer(age), .integer(Self.pageSize))
        }
        try await write([
            delete("change", "id", "createdAt", Self.changeLifetime),
            delete("lookup", "identifier, app", "askedAt", Self.claimLifetime),
            delete("server", "name", "seenAt", Self.claimLifetime),
        ])
    }

    package func claimLookup(
        of identifier: TransactionIdentifier, in scope: AppScope, every interval: Duration
    ) async throws(StorageError) -> Bool {
        let app = try await appID(of: scope)
        return try await !write([
            SQLStatement(
                """
                INSERT INTO lookup (app, identifier, askedAt) VALUES ($1, $2, \(Self.clock))
                ON CONFLICT (identifier, app) DO UPDATE SET askedAt = excluded.askedAt
                    WHERE lookup.askedAt <= excluded.askedAt - $3
                RETURNING askedAt
                """, .integer(app), .text(identifier.rawValue), .integer(interval.inMilliseconds))
        ]) { _ in true }.isEmpty
    }

    // MARK: - Servers

    package func checkIn(_ server: String, countingWithin interval: Duration) async throws(StorageError) -> Int {
        let count = try await write([
            SQLStatement(
                """
                INSERT INTO server (name, seenAt) VALUES ($1, \(Self.clock))
                ON CONFLICT (name) DO UPDATE SET seenAt = excluded.seenAt
                """, .text(server)),
            SQLStatement(
                "SELECT count(*) FROM server WHERE seenAt > \(Self.clock) - $1", .integer(interval.inMilliseconds)),
        ]) { (row) throws(StorageError) -> Int? in try row.count(0) }.first
        return max(count ?? 1, 1)
    }

    package func checkOut(_ server: String) async throws(StorageError) {
        try await write([SQLStatement("DELETE FROM server WHERE name = $1", .text(server))])
    }
}

/// Buckets of calls that all servers share. The row of a bucket is locked by each request, so that requests are granted
/// one after the other.
extension PostgreSQLStore {
    package func takeCalls(_ request: CallRequest) async throws(StorageError) -> CallGrant {
        let app = try await appID(of: request.bucket.scope)
        let bucket: [SQLValue] = [.integer(app), .text(request.bucket.endpoint)]
        let size = SQLValue.integer(request.callsPerHour)
        return try await write([
            SQLStatement(
                """
                INSERT INTO callBucket (app, endpoint, level, at) VALUES ($1, $2, $3::bigint, clock_timestamp())
                ON CONFLICT (app, endpoint) DO NOTHING
                """, bucket + [size]),
            SQLStatement(
                """
                UPDATE callBucket SET (level, granted, at) = (
                    SELECT filled - calls, calls, instant FROM (
                        SELECT filled, instant, CASE WHEN pausedUntil > instant THEN 0
                            ELSE greatest(least($4::bigint, floor(filled - $5::bigint)::bigint), 0) END AS calls
                        FROM (
                            SELECT instant, least($3::bigint, level + $3::bigint / 3600.0
                                * greatest(extract(epoch FROM instant - at)::double precision, 0)) AS filled
                            FROM (SELECT greatest(clock_timestamp(), at) AS instant) AS clock) AS refill) AS request)
                WHERE app = $1 AND endpoint = $2
                RETURNING granted, greatest(floor(level), 0)::bigint, ceil(1000 * greatest(
                    extract(epoch FROM pausedUntil - at)::double precision,
                    (1 + $5::bigint - level) * 3600 / $3::bigint))::bigint
                """, bucket + [size, .integer(request.count), .integer(request.reserved)]),
        ]) { (row) throws(StorageError) in
            CallGrant(
                count: try row.integer(0), left: try row.integer(1), wait: .milliseconds(max(try row.integer(2), 0)))
        }.first ?? CallGrant(count: 0, left: 0, wait: .seconds(1))
    }

    package func returnCalls(_ count: Int64, to bucket: CallBucketKey) async throws(StorageError) {
        let app = try await appID(of: bucket.scope)
        try requireReady()
        do throws(PostgreSQLError) {
            // Not repeated if its outcome is unknown, because it would count twice.
            _ = try await client.query(
                SQLStatement(
                    "UPDATE callBucket SET level = level + $3 WHERE app = $1 AND endpoint = $2",
                    [.integer(app), .text(bucket.endpoint), .integer(count)]))
        } catch {
            throw storageError(error)
        }
    }

    package func pauseCalls(of bucket: CallBucketKey, for pause: Duration) async throws(StorageError) {
        let app = try await appID(of: bucket.scope)
        try await write([
            SQLStatement(
                """
                UPDATE callBucket SET pausedUntil = greatest(
                    pausedUntil, clock_timestamp() + $3::bigint * interval '1 millisecond')
                WHERE app = $1 AND endpoint = $2
                """, .integer(app), .text(bucket.endpoint), .integer(pause.inMilliseconds))
        ])
    }
}
