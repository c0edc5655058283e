import Storage

/// Identifiers whose customers a transaction changes. The second statement of the transaction locks them.
struct CustomerLocks: Sendable {
    /// Original transaction ids or transaction ids, each with its app.
    private var purchases: Set<Key> = []
    /// App transaction ids, each with its app.
    private var downloads: Set<Key> = []

    private struct Key: Sendable, Hashable {
        let identifier: String
        let app: Int64
    }

    /// Adds the customer of a purchase.
    mutating func add(_ purchase: String?, app: Int64) {
        if let purchase { purchases.insert(Key(identifier: purchase, app: app)) }
    }

    /// Adds the customer of a download of the app.
    mutating func add(download: String?, app: Int64) {
        if let download { downloads.insert(Key(identifier: download, app: app)) }
    }

    mutating func formUnion(_ other: CustomerLocks) {
        purchases.formUnion(other.purchases)
        downloads.formUnion(other.downloads)
    }

    /// Locks the customers until the end of the transaction, in ascending order of their ids. Foreign keys can still
    /// be checked against them; merging and erasing customers excludes that, too.
    var statement: SQLStatement {
        func owner(_ column: String, _ keys: String) -> String {
            """
            SELECT found.customer FROM \(keys) AS wanted (identifier, app) CROSS JOIN LATERAL (
                SELECT customer FROM transactionRecord
                WHERE \(column) = wanted.identifier AND app = wanted.app AND customer IS NOT NULL LIMIT 1) AS found
            """
        }
        return SQLStatement(
            """
            SELECT id FROM customer WHERE id = ANY (ARRAY(
                \(owner("originalTransactionId", "unnest($1::text[], $2::bigint[])"))
                UNION ALL
                \(owner("transactionId", "unnest($1::text[], $2::bigint[])"))
                UNION ALL
                \(owner("appTransactionId", "unnest($3::text[], $4::bigint[])"))))
            ORDER BY id FOR NO KEY UPDATE
            """,
            .texts(purchases.map(\.identifier)), .integers(purchases.map(\.app)),
            .texts(downloads.map(\.identifier)), .integers(downloads.map(\.app)))
    }
}
