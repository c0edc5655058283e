import GRDB

extension SQLiteStore: ComparisonLog {
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
}
