import GRDB
package import StoreTypes

/// Deliveries of an app that are not done.
package struct DeliveryBacklog: Sendable, Hashable {
    package let bundleId: BundleIdentifier
    /// To be sent, or tried again.
    package let waiting: Int64
    /// Given up.
    package let abandoned: Int64
}

extension Store {
    /// Of each app that has any; goes by the indices of both.
    package func deliveryBacklog() async throws(StorageError) -> [DeliveryBacklog] {
        try await read { db in
            // A state is spelled out, so that its index is used.
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
