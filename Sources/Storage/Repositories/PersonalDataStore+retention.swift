package import ReceiptBridgeBase

/// Deletes expired rows in small transactions. The conditions are part of each deletion, because a row may have been
/// updated since it was found. Rows that another transaction changes at the moment stay until the next run.
extension PersonalDataStore {
    /// Deletes expired rows in small batches, between which other tasks can write. `pause` is called after each batch
    /// with the time that it blocked other writes; it returns `false` to stop. Returns the numbers of deleted rows by
    /// kind, without those that are 0.
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

    /// Counts the rows that ``expire(_:at:pause:)`` would delete, by kind, without kinds with a count of 0.
    package func expired(_ retention: Retention, at now: Timestamp) async throws(StorageError) -> [Erasure.Kind] {
        var erasure = Erasure()
        for rule in RetentionRule.all {
            guard let (name, run) = rule.run(retention, at: now) else { continue }
            let count = SQLStatement("SELECT count(*) \(rule.source)", run.values)
            for count in try await readSlowly(count, { (row) throws(StorageError) in try row.integer(0) }) {
                erasure.add(Int(count), name)
            }
        }
        return erasure.kinds
    }

    /// Returns the newest signing date of the records that were stored last; `nil` if none has one.
    package func newestSignedDate() async throws(StorageError) -> Timestamp? {
        let newest = ["notification", "transactionRecord"].map { table in
            """
            SELECT * FROM (
                SELECT signedDate FROM \(table) WHERE signedDate IS NOT NULL AND \(dialect.isTime("signedDate"))
                ORDER BY id DESC LIMIT 100) AS \(table)
            """
        }
        let sql = "SELECT max(signedDate) FROM (\(newest.joined(separator: " UNION ALL "))) AS newest"
        return try await readSlowly(SQLStatement(sql)) { (row) throws(StorageError) in
            try row.optionalTimestamp(0)
        }.first
    }

    /// Deletes the expired rows of one rule, in batches. Tables with a row id are searched in reads first, so that only
    /// the deletion itself blocks writers. Returns the number of rows.
    private func expire(_ run: RetentionRun, pause: (Duration) async -> Bool) async throws(StorageError) -> Int {
        var batch = RetentionBatch()
        guard run.rule.search != .key else {
            while true {
                let (limit, start) = (batch.size, ContinuousClock.now)
                let count = try await delete(run.deletion(dialect, limit: limit))
                batch.add(count, since: start)
                guard count == limit, await pause(batch.time) else { return batch.count }
            }
        }
        var last: Int64 = 0
        while true {
            let rows = try await search(run, after: last)
            var ids = rows.filter(\.isDeletable).map(\.id)
            while !ids.isEmpty {
                let (some, start) = (Array(ids.prefix(batch.size)), ContinuousClock.now)
                ids.removeFirst(some.count)
                batch.add(try await delete(some, of: run), since: start)
                guard await pause(batch.time) else { return batch.count }
            }
            guard rows.count == RetentionRun.window, let end = rows.last,
                end.isExpired || run.rule.search == .ids
            else { return batch.count }
            last = end.id
        }
    }

    private func delete(_ deletion: SQLStatement) async throws(StorageError) -> Int {
        try await write([deletion]) { (_) throws(StorageError) in true }.count
    }

    /// Deletes those of the rows that are still expired. Returns their number.
    private func delete(_ ids: [Int64], of run: RetentionRun) async throws(StorageError) -> Int {
        let rule = run.rule
        guard let column = rule.recordColumn else { return try await delete(run.deletion(of: ids, dialect)) }
        // No other transaction writes about the same purchases at the same time.
        let records = SQLStatement(
            """
            SELECT app, transactionId, originalTransactionId FROM transactionRecord
            WHERE \(dialect.isAny(column, "$1"))
            """, .integers(ids))
        let names = try await read(records) { (row) throws(StorageError) in
            let app = try row.rowID(0)
            return [(name: try row.text(1), app: app), (name: try row.text(2), app: app)]
        }
        let lock = SQLStatement(
            """
            SELECT id FROM \(rule.table.name) WHERE \(dialect.isAny("id", "$1")) ORDER BY id \(dialect.lockingFree)
            """, .integers(ids))
        // The rows are checked again by a later statement, which sees what was committed before they were locked.
        return try await transaction(
            SQLStep<Row, Int>.run(locks(of: Array(names.joined())) + [lock]) { (rows) throws(StorageError) in
                let locked = try intact(rows[rows.count - 1]) { (row) throws(StorageError) in try row.rowID(0) }
                return .run([run.find(locked, dialect)]) { (rows) throws(StorageError) in
                    let old = try intact(rows[0]) { (row) throws(StorageError) in try row.rowID(0) }
                    let deletions = rule.deletions(dialect).map { SQLStatement($0, .integers(old)) }
                    return .end(old.count, after: old.isEmpty ? [] : deletions)
                }
            })
    }
}

extension RetentionRun {
    fileprivate func find(_ ids: [Int64], _ dialect: SQLDialect) -> SQLStatement {
        let id = rule.id(dialect)
        return SQLStatement("SELECT \(id) \(rule.source) AND \(dialect.isAny(id, "$3"))", values + [.integers(ids)])
    }

    fileprivate func deletion(of ids: [Int64], _ dialect: SQLDialect) -> SQLStatement {
        let (id, find) = (rule.id(dialect), find(ids, dialect))
        return SQLStatement(
            """
            DELETE FROM \(rule.table.name) WHERE \(id) IN (\(find.sql) ORDER BY \(id) \(dialect.lockingFree))
            RETURNING 1
            """, find.values)
    }

    /// Deletes at most `limit` expired rows of a table that is searched by its primary key.
    fileprivate func deletion(_ dialect: SQLDialect, limit: Int) -> SQLStatement {
        let columns = rule.table.key.joined(separator: ", ")
        // Sorted only for the locks, because SQLite finds the rows by their age.
        let order = dialect == .sqlite ? "" : "ORDER BY \(columns)"
        return SQLStatement(
            """
            DELETE FROM \(rule.table.name) WHERE (\(columns)) IN (
                SELECT \(columns) \(rule.source) \(order) LIMIT $3 \(dialect.lockingFree))
            RETURNING 1
            """, values + [.integer(Int64(limit))])
    }
}
