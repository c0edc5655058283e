import ReceiptBridgeBase

/// The times in which servers refused notifications.
extension PostgreSQLStore {
    private static let pageSize = 1_000

    package func add(_ gap: NotificationGap) async throws(StorageError) {
        try await write([
            SQLStatement(
                "INSERT INTO notificationGap (startedAt, endedAt) VALUES ($1, $2)", SQLValue(gap.start),
                SQLValue(gap.end))
        ])
    }

    package func notificationGaps() async throws(StorageError) -> StoredGaps {
        let rows = try await readIntact(
            SQLStatement("SELECT id, startedAt, endedAt FROM notificationGap ORDER BY startedAt LIMIT \(Self.pageSize)")
        ) { (row) throws(StorageError) in
            (id: try row.rowID(0), gap: NotificationGap(from: try row.timestamp(1), to: try row.timestamp(2)))
        }
        return StoredGaps(gaps: rows.map(\.gap), ids: rows.map(\.id))
    }

    package func remove(_ gaps: StoredGaps) async throws(StorageError) {
        try await write([SQLStatement("DELETE FROM notificationGap WHERE id = ANY ($1)", .integers(gaps.ids))])
    }
}
