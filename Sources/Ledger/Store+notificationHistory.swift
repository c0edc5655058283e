import GRDB
package import StoreTypes

extension Store {
    /// An earlier notification about the same purchase.
    package struct PreviousNotification: Sendable, Hashable {
        package let type: String?
        package let signedDate: Timestamp?
        /// The compact JWS.
        package let text: String
    }

    /// Returns earlier signed notifications about the same purchase, the most recently signed first.
    ///
    /// - Parameters:
    ///   - number: row id of the notification, as in ``StoredDelivery/notification``.
    ///   - type: only notifications of this type; `nil` for all.
    package func previousNotifications(
        of number: Int64, type: String? = nil, limit: Int
    ) async throws(StorageError) -> [PreviousNotification] {
        try await read { db in
            let find = try db.cachedStatement(
                sql: """
                    SELECT old.type, old.signedDate, old.text FROM notification AS new
                    JOIN notification AS old ON old.originalTransactionId = new.originalTransactionId
                    AND old.app = new.app AND old.id < new.id AND old.version = 2
                    WHERE new.id = ?1 AND (?2 IS NULL OR old.type = ?2)
                    ORDER BY coalesce(old.signedDate, old.receivedAt) DESC, old.id DESC LIMIT ?3
                    """)
            return try Row.fetchAll(find, arguments: [number, type, limit]).map {
                PreviousNotification(
                    type: $0[0], signedDate: ($0[1] as Int64?).map(Timestamp.init(milliseconds:)),
                    text: try self.text($0[2], in: db))
            }
        }
    }
}
