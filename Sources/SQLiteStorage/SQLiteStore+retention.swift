package import Storage
import GRDB
import SQLiteFiles
package import AppStoreTypes

extension SQLiteStore {
    /// Number of rows that are scanned in one read.
    private static let window: Int64 = 1_000

    package func expire(
        _ retention: Retention, at now: Timestamp, pause: (Duration) async -> Bool
    ) async throws(StorageError) -> [Erasure.Kind] {
        var erasure = Erasure()
        for rule in RetentionRule.all {
            guard let (name, before) = rule.limit(retention, at: now) else { continue }
            erasure.add(try await expire(rule, before: before, pause: pause), name)
        }
        erasure.add(try await reduceHints(pause: pause), Self.reducedBodies)
        return erasure.kinds
    }

    package func expired(_ retention: Retention, at now: Timestamp) async throws(StorageError) -> [Erasure.Kind] {
        var erasure = Erasure()
        for rule in RetentionRule.all {
            guard let (name, before) = rule.limit(retention, at: now) else { continue }
            erasure.add(try await count(rule, before: before), name)
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

    /// Counts the expired rows of one rule.
    private func count(_ rule: RetentionRule, before: Timestamp) async throws(StorageError) -> Int {
        try await read { db in
            Int(try db.integer("SELECT count(*) \(rule.source)", rule.arguments(before)) ?? 0)
        }
    }

    /// Deletes the expired rows of one rule, in batches. Tables with a rowid are scanned in read transactions first,
    /// so that only the deletion itself blocks writers.
    private func expire(
        _ rule: RetentionRule, before: Timestamp, pause: (Duration) async -> Bool
    ) async throws(StorageError) -> Int {
        var batch = Batch()
        if rule.primaryKey != nil {
            while true {
                let limit = batch.size
                let count = try await batch.run(in: self) { try rule.delete(limit, before: before, in: $0) }
                guard count == limit, await pause(batch.time) else { return batch.count }
            }
        }
        var last: Int64 = 0
        while true {
            let rows = try await scan(rule, after: last, before: before)
            var keys = rows.filter(\.isDeletable).map(\.key)
            while !keys.isEmpty {
                let some = Array(keys.prefix(batch.size))
                keys.removeFirst(some.count)
                _ = try await batch.run(in: self) { try rule.delete(some, before: before, in: $0) }
                guard await pause(batch.time) else { return batch.count }
            }
            guard rows.count == Self.window, let end = rows.last, end.isExpired || !rule.isInOrderOfAge else {
                return batch.count
            }
            last = end.key
        }
    }

    /// Adapts the number of rows in a batch, so that each batch blocks other writes for about ``limit``: doubles it
    /// up to 512 after a short batch, and halves it after a long one.
    struct Batch {
        /// Maximum number of rows of the next batch.
        private(set) var size = 64
        /// Number of rows changed so far.
        private(set) var count = 0
        /// Duration of the last batch.
        private(set) var time = Duration.zero

        private static let limit = Duration.milliseconds(20)

        /// - Parameter size: maximum number of rows of the first batch.
        init(size: Int = 64) { self.size = size }

        mutating func run(
            in store: SQLiteStore, _ body: @escaping @Sendable (Database) throws -> Int
        ) async throws(StorageError) -> Int {
            let start = ContinuousClock.now
            let count = try await store.write(body)
            time = start.duration(to: .now)
            self.count += count
            size = time > Self.limit ? max(size / 2, 1) : min(size * 2, 512)
            return count
        }
    }

    /// Reads the next rows of a table, and evaluates the conditions of the rule for each.
    private func scan(
        _ rule: RetentionRule, after key: Int64, before: Timestamp
    ) async throws(StorageError) -> [(key: Int64, isExpired: Bool, isDeletable: Bool)] {
        try await read { db in
            // The conditions are null for a missing age.
            let rows = try db.rows(
                """
                SELECT rowid, coalesce(\(rule.expiredCondition), 0),
                    coalesce(\(rule.expiredCondition) AND \(rule.deletableCondition), 0)
                FROM \(rule.table) WHERE rowid > :after AND \(rule.filter ?? "1") ORDER BY rowid LIMIT :window
                """, rule.arguments(before) + ["after": key, "window": Self.window])
            try Self.requireAscendingKeys(rows, after: key)
            return try rows.map { (try $0.integer(0), try $0.boolean(1), try $0.boolean(2)) }
        }
    }
}

extension RetentionRule {
    /// Rows from before this time are expired; `nil` if they are kept forever. The name stands for the rows in the
    /// result.
    func limit(_ retention: Retention, at now: Timestamp) -> (name: String, before: Timestamp)? {
        guard case .period(let name, let days) = data.lifetime, let days = days(retention) else { return nil }
        return (name, now.advanced(byMilliseconds: -days * 86_400_000))
    }

    func arguments(_ before: Timestamp) -> StatementArguments {
        ["before": before.milliseconds, "beforeDay": before.seconds / 86_400]
    }

    /// The FROM and WHERE clauses that select the rows to delete.
    var source: String { "FROM \(table) WHERE \(filter ?? "1") AND \(expiredCondition) AND \(deletableCondition)" }

    /// Deletes those of the rows that are still expired, because a row may have been updated since the scan. Returns
    /// their number.
    func delete(_ keys: [Int64], before: Timestamp, in db: Database) throws -> Int {
        func list(_ keys: [Int64]) -> String { "[" + keys.map(String.init).joined(separator: ",") + "]" }
        let old = try db.integers(
            "SELECT rowid \(source) AND rowid IN \(Self.keys)", arguments(before) + ["keys": list(keys)])
        guard !old.isEmpty else { return 0 }
        for statement in dependents + ["DELETE FROM \(table) WHERE rowid IN \(Self.keys)"] {
            try db.cachedStatement(sql: statement).execute(arguments: ["keys": list(old)])
        }
        return old.count
    }

    /// Deletes at most `limit` expired rows of a table without a rowid. Returns their number.
    func delete(_ limit: Int, before: Timestamp, in db: Database) throws -> Int {
        guard let primaryKey else { return 0 }
        try db.execute(
            sql: "DELETE FROM \(table) WHERE (\(primaryKey)) IN (SELECT \(primaryKey) \(source) LIMIT :limit)",
            arguments: arguments(before) + ["limit": limit])
        return db.changesCount
    }
}
