import GRDB

extension SQLiteStore {
    /// Creates the table with one row for each customer and the day of the last comparison. So several receipts of a
    /// customer count once, also across restarts and days.
    static func addComparedCustomers(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE comparedCustomer (
                    bundleId TEXT NOT NULL, environment TEXT NOT NULL, customer INTEGER NOT NULL, day INTEGER NOT NULL,
                    PRIMARY KEY (bundleId, environment, customer)) WITHOUT ROWID;
                """)
    }
}
