import GRDB
package import Storage

/// The order of customers by the expiry dates in their receipts, for `--active-first` and `--plan`.
extension MigrationStore {
    /// SQL of the latest expiry date in the authentic rows of a customer, in milliseconds since 1970. Staged rows are
    /// the JSON of `DecodedRow`.
    private static let expiry = """
        max(CASE WHEN json_extract(CAST(result AS TEXT), '$.verified')
            THEN json_extract(CAST(result AS TEXT), '$.expires') END)
        """

    /// Stores the order of the waiting customers until the file is closed, those with the latest expiry date first.
    package func orderCustomersByExpiry() throws(StorageError) {
        try write { db in
            try db.execute(
                sql: """
                    CREATE TEMP TABLE IF NOT EXISTS expiryOrder (place INTEGER PRIMARY KEY, customer INTEGER NOT NULL);
                    DELETE FROM temp.expiryOrder;
                    INSERT INTO temp.expiryOrder (customer)
                    SELECT staged.customer FROM staged JOIN customer ON customer.key = staged.customer
                    WHERE customer.state = 0 GROUP BY staged.customer
                    ORDER BY \(Self.expiry) DESC NULLS LAST, staged.customer
                    """)
        }
    }

    /// Returns the keys of customers whose lookup is pending, with their places in the order of lookups: that of
    /// ``orderCustomersByExpiry()``, or that of the keys.
    package func waitingCustomers(
        in scope: Int64, byExpiry: Bool = false, after place: Int64, limit: Int
    ) throws(StorageError) -> [(place: Int64, key: Int64)] {
        let order =
            byExpiry
            ? (
                place: "place",
                tables: "temp.expiryOrder CROSS JOIN customer ON customer.key = expiryOrder.customer"
            ) : (place: "customer.key", tables: "customer")
        return try read { db in
            try db.rows(
                """
                SELECT \(order.place), customer.key FROM \(order.tables)
                WHERE \(order.place) > ? AND customer.state = 0 AND customer.scope = ?
                ORDER BY \(order.place) LIMIT ?
                """, [place, scope, limit]
            ).map { (try $0.integer(0), try $0.integer(1)) }
        }
    }

    /// Returns the number of waiting customers with a subscription that expires after a time, by their receipts.
    package func activeCustomers(at time: Int64) throws(StorageError) -> Int64 {
        try read { db in
            try db.integer(
                """
                SELECT count(*) FROM (
                    SELECT 1 FROM staged JOIN customer ON customer.key = staged.customer
                    WHERE customer.state = 0 GROUP BY staged.customer HAVING \(Self.expiry) > ?)
                """, [time]) ?? 0
        }
    }
}
