import Foundation
import GRDB

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
}
