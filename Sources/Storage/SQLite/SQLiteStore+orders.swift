package import Base
import Foundation
import GRDB

extension SQLiteStore: OrderLog {
    package func record(
        _ row: OrderLookupRow, of scope: AppScope, at now: Timestamp, limit: Int
    ) async throws(StorageError) -> Int64 {
        try await write { db in
            let app = try Self.appID(of: scope, in: db)
            let asked =
                try db.integer(
                    """
                    INSERT INTO orderLookup
                    (app, orderId, status, transactions, identifiers, asked, firstAskedAt, lastAskedAt)
                    VALUES (?, ?, ?, ?, ?, 1, ?, ?)
                    ON CONFLICT (orderId, app) DO UPDATE SET
                        status = excluded.status, transactions = excluded.transactions,
                        identifiers = excluded.identifiers, asked = asked + 1,
                        lastAskedAt = max(lastAskedAt, excluded.lastAskedAt)
                    RETURNING asked
                    """,
                    [
                        app, row.orderId, row.status, Data(row.transactionsJSON),
                        row.identifiers.joined(separator: " "), now.milliseconds, now.milliseconds,
                    ]) ?? 1
            if asked == 1 {
                try db.execute(
                    sql: """
                        DELETE FROM orderLookup WHERE id IN (
                            SELECT id FROM orderLookup WHERE app = ? ORDER BY lastAskedAt DESC, id DESC
                            LIMIT -1 OFFSET ?)
                        """, arguments: [app, limit])
            }
            return asked - 1
        }
    }
}
