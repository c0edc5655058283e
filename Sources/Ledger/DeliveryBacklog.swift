import GRDB
package import StoreTypes

/// Numbers of an app's deliveries that are not completed.
package struct DeliveryBacklog: Sendable, Hashable {
    package let bundleId: BundleIdentifier
    /// Waiting for the first attempt or for a retry.
    package let waiting: Int64
    /// Given up after the last retry.
    package let abandoned: Int64
}

extension Store {
    /// Returns the backlog of each app that has one. Reads only the partial indices of both states.
    package func deliveryBacklog() async throws(StorageError) -> [DeliveryBacklog] {
        try await read { db in
            // The states are literals, because SQLite otherwise does not use the partial indices.
            try Row.fetchAll(
                db,
                sql: """
                    SELECT bundleId, sum(waiting), sum(dead) FROM (
                        SELECT addressee AS target, count(*) AS waiting, 0 AS dead FROM delivery WHERE state = 0
                        GROUP BY addressee
                        UNION ALL
                        SELECT addressee, 0, count(*) FROM delivery WHERE state = 2 GROUP BY addressee)
                    JOIN addressee ON addressee.id = target GROUP BY bundleId ORDER BY bundleId
                    """
            ).compactMap { row in
                BundleIdentifier(rawValue: row[0]).map {
                    DeliveryBacklog(bundleId: $0, waiting: row[1], abandoned: row[2])
                }
            }
        }
    }
}
