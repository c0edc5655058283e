package import Storage
import Foundation
import GRDB
import SQLiteFiles

extension SQLiteStore: ComparisonLog {
    /// Maximum number of examples of each difference.
    package static let differenceExamples = 3

    /// Creates the tables of the shadow comparison: `comparison` counts comparisons, `difference` counts differences,
    /// `differenceExample` has a few examples of each difference.
    static func addComparisons(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE comparison (
                    day INTEGER NOT NULL, bundleId TEXT NOT NULL, environment TEXT NOT NULL, outcome TEXT NOT NULL,
                    count INTEGER NOT NULL,
                    PRIMARY KEY (day, bundleId, environment, outcome)) WITHOUT ROWID;
                CREATE TABLE difference (
                    key INTEGER PRIMARY KEY, day INTEGER NOT NULL, bundleId TEXT NOT NULL, environment TEXT NOT NULL,
                    verdict TEXT NOT NULL, rule TEXT NOT NULL, path TEXT NOT NULL, count INTEGER NOT NULL,
                    first INTEGER NOT NULL, last INTEGER NOT NULL,
                    UNIQUE (day, bundleId, environment, verdict, rule, path));
                CREATE TABLE differenceExample (
                    difference INTEGER NOT NULL REFERENCES difference (key) ON DELETE CASCADE, example BLOB NOT NULL);
                CREATE INDEX exampleByDifference ON differenceExample (difference);
                """)
    }

    /// Adds counts of comparisons and differences to the stored ones.
    ///
    /// - Parameter limit: maximum number of customers of one app and environment.
    package func add(
        comparisons: [ComparisonCount], differences: [DifferenceCount], customers: [ComparedCustomers] = [],
        limit: Int = 10_000
    ) async throws(StorageError) {
        try await write { db in
            for row in comparisons {
                try db.cachedStatement(
                    sql: """
                        INSERT INTO comparison VALUES (?, ?, ?, ?, ?)
                        ON CONFLICT DO UPDATE SET count = count + excluded.count
                        """
                ).execute(arguments: [row.day, row.bundleId, row.environment, row.outcome, row.count])
            }
            for row in differences { try Self.add(row, to: db) }
            for row in customers { try Self.add(row, limit: limit, to: db) }
        }
    }

    private static func add(_ row: DifferenceCount, to db: Database) throws {
        let key = try db.integer(
            """
            INSERT INTO difference (day, bundleId, environment, verdict, rule, path, count, first, last)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET
                count = count + excluded.count, last = max(last, excluded.last)
            RETURNING key
            """,
            [row.day, row.bundleId, row.environment, row.verdict, row.rule, row.path, row.count, row.first, row.last])
        guard let key, !row.examples.isEmpty else { return }
        let existing = try db.integer("SELECT count(*) FROM differenceExample WHERE difference = ?", [key]) ?? 0
        for example in row.examples.prefix(max(Self.differenceExamples - Int(existing), 0)) {
            try db.cachedStatement(sql: "INSERT INTO differenceExample VALUES (?, ?)").execute(
                arguments: [key, Data(example)])
        }
    }

    /// Returns the comparisons and differences since a day.
    package func comparisons(
        since day: Int64
    ) async throws(StorageError) -> (comparisons: [ComparisonCount], differences: [DifferenceCount]) {
        try await read { db in
            let comparisons = try db.rows(
                "SELECT day, bundleId, environment, outcome, count FROM comparison WHERE day >= ?", [day])
            let differences = try db.rows(
                """
                SELECT key, day, bundleId, environment, verdict, rule, path, count, first, last FROM difference
                WHERE day >= ? ORDER BY key
                """, [day])
            return (
                try self.intact(comparisons) { row in
                    ComparisonCount(
                        day: try row.integer(0), bundleId: try row.text(1), environment: try row.text(2),
                        outcome: try row.text(3), count: try row.integer(4))
                },
                try self.intact(differences) { row in
                    let examples = try db.rows(
                        "SELECT example FROM differenceExample WHERE difference = ?", [try row.integer(0)])
                    return DifferenceCount(
                        day: try row.integer(1), bundleId: try row.text(2), environment: try row.text(3),
                        verdict: try row.text(4), rule: try row.text(5), path: try row.text(6),
                        count: try row.integer(7), first: try row.integer(8), last: try row.integer(9),
                        examples: try self.intact(examples) { try $0.bytes(0) })
                }
            )
        }
    }
}
