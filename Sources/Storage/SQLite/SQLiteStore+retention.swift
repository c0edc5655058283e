package import Base
import GRDB

extension SQLiteStore {
    package func expire(
        _ retention: Retention, at now: Timestamp, pause: (Duration) async -> Bool
    ) async throws(StorageError) -> [Erasure.Kind] {
        var erasure = Erasure()
        for rule in RetentionRule.all {
            guard let (name, run) = rule.run(retention, at: now) else { continue }
            erasure.add(try await expire(run, pause: pause), name)
        }
        erasure.add(try await reduceHints(pause: pause), Self.reducedBodies)
        return erasure.kinds
    }

    package func expired(_ retention: Retention, at now: Timestamp) async throws(StorageError) -> [Erasure.Kind] {
        var erasure = Erasure()
        for rule in RetentionRule.all {
            guard let (name, run) = rule.run(retention, at: now) else { continue }
            let count = SQLStatement("SELECT count(*) \(rule.source)", run.values)
            for count in try await read(count, { (row) throws(StorageError) in try row.optionalInteger(0) }) {
                erasure.add(Int(count), name)
            }
        }
        erasure.add(try await wholeHintCount(), Self.reducedBodies)
        return erasure.kinds
    }

    package func newestSignedDate() async throws(StorageError) -> Timestamp? {
        try await read { db in
            let newest = ["notification", "transactionRecord"].map { table in
                """
                SELECT * FROM (
                    SELECT signedDate FROM \(table) WHERE typeof(signedDate) = 'integer' ORDER BY id DESC LIMIT 100)
                """
            }
            return try db.integer("SELECT max(signedDate) FROM (\(newest.joined(separator: " UNION ALL ")))")
        }.map(Timestamp.init(milliseconds:))
    }

    /// Name of version 1 notifications in the result of a retention run.
    private static let reducedBodies = "version1Bodies"

    /// Deletes the expired rows of one rule, in batches. Tables with a rowid are scanned in read transactions first,
    /// so that only the deletion itself blocks writers.
    private func expire(
        _ run: RetentionRun, pause: (Duration) async -> Bool
    ) async throws(StorageError) -> Int {
        var batch = RetentionBatch()
        guard case .id(let isInOrderOfAge) = run.rule.key else {
            while true {
                let limit = batch.size
                let count = try await self.run(&batch) { try run.delete(limit, in: $0) }
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
                _ = try await self.run(&batch) { try run.delete(some, in: $0) }
                guard await pause(batch.time) else { return batch.count }
            }
            guard rows.count == RetentionRun.window, let end = rows.last, end.isExpired || !isInOrderOfAge else {
                return batch.count
            }
            last = end.id
        }
    }

    /// Runs a batch. Returns the number of rows that it changed.
    func run(
        _ batch: inout RetentionBatch, _ body: @escaping @Sendable (Database) throws -> Int
    ) async throws(StorageError) -> Int {
        let start = ContinuousClock.now
        let count = try await write(body)
        batch.add(count, since: start)
        return count
    }
}

extension RetentionRun {
    /// Deletes those of the rows that are still expired, because a row may have been updated since the scan. Returns
    /// their number.
    fileprivate func delete(_ ids: [Int64], in db: Database) throws -> Int {
        let find = SQLStatement(
            "SELECT rowid \(rule.source) AND \(SQLDialect.sqlite.isAny("rowid", "$3"))", values + [.integers(ids)])
        let old = try db.integers(find.sql, find.arguments)
        guard !old.isEmpty else { return 0 }
        for sql in rule.deletions(.sqlite) {
            try db.cachedStatement(sql: sql).execute(arguments: SQLStatement(sql, .integers(old)).arguments)
        }
        return old.count
    }

    /// Deletes at most `limit` expired rows of a table that is searched by its primary key. Returns their number.
    fileprivate func delete(_ limit: Int, in db: Database) throws -> Int {
        guard case .columns(let columns) = rule.key else { return 0 }
        let delete = SQLStatement(
            "DELETE FROM \(rule.table) WHERE (\(columns)) IN (SELECT \(columns) \(rule.source) LIMIT $3)",
            values + [.integer(Int64(limit))])
        try db.cachedStatement(sql: delete.sql).execute(arguments: delete.arguments)
        return db.changesCount
    }
}
