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

    /// Adds customers, and updates the day of existing ones.
    ///
    /// - Parameter limit: maximum number of customers of one app and environment. Further ones are not counted.
    static func add(_ customers: ComparedCustomers, limit: Int, to db: Database) throws {
        let existing = try db.integer(
            "SELECT count(*) FROM comparedCustomer WHERE bundleId = ? AND environment = ?",
            [customers.bundleId, customers.environment])
        var remaining = limit - Int(existing ?? 0)
        for digest in customers.digests {
            try db.cachedStatement(
                sql: """
                    UPDATE comparedCustomer SET day = max(day, ?)
                    WHERE bundleId = ? AND environment = ? AND customer = ?
                    """
            ).execute(arguments: [customers.day, customers.bundleId, customers.environment, digest])
            guard db.changesCount == 0, remaining > 0 else { continue }
            remaining -= 1
            try db.cachedStatement(sql: "INSERT INTO comparedCustomer VALUES (?, ?, ?, ?)").execute(
                arguments: [customers.bundleId, customers.environment, digest, customers.day])
        }
    }
}
