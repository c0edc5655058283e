import GRDB

extension BridgeStore {
    static func addComparisons(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE comparison (
                    day INTEGER NOT NULL, bundleId TEXT NOT NULL, environment TEXT NOT NULL, outcome TEXT NOT NULL,
                    count INTEGER NOT NULL,
                    PRIMARY KEY (day, bundleId, environment, outcome)) WITHOUT ROWID;
                CREATE TABLE difference (
                    id INTEGER PRIMARY KEY, day INTEGER NOT NULL, bundleId TEXT NOT NULL, environment TEXT NOT NULL,
                    class TEXT NOT NULL, rule TEXT NOT NULL, path TEXT NOT NULL, count INTEGER NOT NULL,
                    first INTEGER NOT NULL, last INTEGER NOT NULL,
                    UNIQUE (day, bundleId, environment, class, rule, path));
                CREATE TABLE differenceExample (
                    difference INTEGER NOT NULL REFERENCES difference (id) ON DELETE CASCADE, at INTEGER NOT NULL,
                    receipt TEXT NOT NULL, identifier TEXT, verifyReceipt TEXT, serverAPI TEXT);
                CREATE INDEX exampleByDifference ON differenceExample (difference);
                """)
    }
}
