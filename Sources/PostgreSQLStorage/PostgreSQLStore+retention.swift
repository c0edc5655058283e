package import Base
import PostgreSQLClient
package import Storage

/// Deletes expired rows in small transactions. The conditions are part of each deletion, because a row may have been
/// updated since it was found. Rows that another transaction changes at the moment stay until the next run.
extension PostgreSQLStore {
    package func expire(
        _ retention: Retention, at now: Timestamp, pause: (Duration) async -> Bool
    ) async throws(StorageError) -> [Erasure.Kind] {
        var erasure = Erasure()
        for rule in RetentionRule.all {
            guard let (name, run) = rule.run(retention, at: now) else { continue }
            erasure.add(try await expire(run, pause: pause), name)
        }
        return erasure.kinds
    }

    package func newestSignedDate() async throws(StorageError) -> Timestamp? {
        let newest = ["notification", "transactionRecord"].map { table in
            "(SELECT signedDate FROM \(table) WHERE signedDate IS NOT NULL ORDER BY id DESC LIMIT 100)"
        }
        let sql = "SELECT max(signedDate) FROM (\(newest.joined(separator: " UNION ALL "))) AS newest"
        let result = try await runSlowly([PostgreSQLQuery(sql)])[0]
        return try value { () throws(PostgreSQLError) in try result.rows.first?.optionalTimestamp(0) }
    }

    package func expired(_ retention: Retention, at now: Timestamp) async throws(StorageError) -> [Erasure.Kind] {
        var erasure = Erasure()
        for rule in RetentionRule.all {
            guard let (name, run) = rule.run(retention, at: now) else { continue }
            let count = PostgreSQLQuery("SELECT count(*) \(rule.source)", run.arguments)
            let result = try await runSlowly([count])[0]
            erasure.add(try value { () throws(PostgreSQLError) in Int(try result.rows.first?.integer(0) ?? 0) }, name)
        }
        return erasure.kinds
    }

    /// Deletes the expired rows of one rule. Returns their number.
    private func expire(
        _ run: RetentionRun, pause: (Duration) async -> Bool
    ) async throws(StorageError) -> Int {
        var batch = RetentionBatch()
        guard case .id(let isInOrderOfAge) = run.rule.key else {
            while true {
                let limit = batch.size
                let count = try await deleteRows(of: run, limit: limit, in: &batch)
                guard count == limit, await pause(batch.time) else { return batch.count }
            }
        }
        var last: Int64 = 0
        while true {
            let rows = try await search(run, after: last)
            var ids = rows.filter(\.isDeletable).map(\.id)
            while !ids.isEmpty {
                let some = Array(ids.prefix(batch.size))
                ids.removeFirst(some.count)
                try await delete(some, of: run, in: &batch)
                guard await pause(batch.time) else { return batch.count }
            }
            guard rows.count == RetentionRun.window, let end = rows.last, end.isExpired || !isInOrderOfAge else {
                return batch.count
            }
            last = end.id
        }
    }

    /// Deletes at most `limit` expired rows of a table that is searched by its primary key. Returns their number.
    private func deleteRows(
        of run: RetentionRun, limit: Int, in batch: inout RetentionBatch
    ) async throws(StorageError) -> Int {
        guard case .columns(let columns) = run.rule.key else { return 0 }
        let start = ContinuousClock.now
        let results = try await write([
            PostgreSQLQuery(
                """
                DELETE FROM \(run.rule.table) WHERE (\(columns)) IN (
                    SELECT \(columns) \(run.rule.source) ORDER BY \(columns) LIMIT $3::bigint FOR UPDATE SKIP LOCKED)
                """, run.arguments + [.integer(Int64(limit))])
        ])
        batch.add(results[0].affectedRows, since: start)
        return results[0].affectedRows
    }

    /// Deletes those of the rows that are still expired.
    private func delete(
        _ ids: [Int64], of run: RetentionRun, in batch: inout RetentionBatch
    ) async throws(StorageError) {
        let start = ContinuousClock.now
        let (rule, id) = (run.rule, run.rule.id(dialect))
        guard let column = rule.recordColumn else {
            let results = try await write([
                PostgreSQLQuery(
                    """
                    DELETE FROM \(rule.table) WHERE \(id) IN (
                        SELECT \(id) \(rule.source) AND \(id) = ANY ($3::bigint[])
                        ORDER BY \(id) FOR UPDATE SKIP LOCKED)
                    """, run.arguments + [.integers(ids)])
            ])
            return batch.add(results[0].affectedRows, since: start)
        }
        let slots = try await slots(ofRecords: column, ids)
        let count = try await transaction { transaction in
            // The rows are checked again by a later statement, which sees what was committed before they were locked.
            let locked = try await transaction.run([
                LockSlot.lock(slots),
                PostgreSQLQuery(
                    "SELECT id FROM \(rule.table) WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED",
                    [.integers(ids)]),
            ])[1].rows.map { try $0.integer(0) }
            let old = try await transaction.query(
                PostgreSQLQuery(
                    "SELECT id \(rule.source) AND id = ANY ($3::bigint[])", run.arguments + [.integers(locked)])
            ).rows.map { try $0.integer(0) }
            if !old.isEmpty {
                _ = try await transaction.run(
                    rule.deletions(.postgreSQL).map { PostgreSQLQuery($0, [.integers(old)]) })
            }
            return old.count
        }
        batch.add(count, since: start)
    }

    /// Returns the slots of the records that are deleted with rows, so that no other transaction writes about the
    /// same purchases at the same time.
    private func slots(ofRecords column: String, _ ids: [Int64]) async throws(StorageError) -> [LockSlot] {
        let rows = try await read(
            "SELECT app, transactionId, originalTransactionId FROM transactionRecord WHERE \(column) = ANY ($1::bigint[])",
            [.integers(ids)])
        return try value { () throws(PostgreSQLError) in
            var slots: [LockSlot] = []
            for row in rows {
                let app = try row.integer(0)
                slots += [LockSlot(try row.text(1), app: app), LockSlot(try row.text(2), app: app)]
            }
            return slots
        }
    }
}

extension RetentionRun {
    fileprivate var arguments: [PostgreSQLValue] { values.map(PostgreSQLValue.init) }
}
