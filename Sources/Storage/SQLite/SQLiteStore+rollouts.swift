import Base
import GRDB

extension SQLiteStore: RolloutStore {
    /// Creates the table of rollouts, and the table of their compared customers, each of them once.
    static func addRollouts(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE rollout (
                    id INTEGER PRIMARY KEY, bundleId TEXT NOT NULL, block TEXT NOT NULL, startedAt INTEGER NOT NULL,
                    stoppedAt INTEGER, compared INTEGER NOT NULL, different INTEGER NOT NULL, UNIQUE (bundleId, block));
                CREATE TABLE rolloutCustomer (
                    rollout INTEGER NOT NULL REFERENCES rollout (id) ON DELETE CASCADE, environment TEXT NOT NULL,
                    customer INTEGER NOT NULL, isDifferent INTEGER NOT NULL, comparedAt INTEGER NOT NULL,
                    PRIMARY KEY (rollout, environment, customer)) WITHOUT ROWID;
                """)
    }
}
