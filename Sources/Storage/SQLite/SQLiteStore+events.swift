import Base
import GRDB

/// The table of events. A store in a file has one writer, so events become visible in the order of their sequence.
extension SQLiteStore: EventStore {
    package func eventHorizon() async throws(StorageError) -> Int64 {
        try await read { try $0.integer("SELECT max(sequence) FROM events") ?? 0 }
    }

    package func insertions(of events: [CustomerEvent], in scope: AppScope) -> [SQLStatement] {
        events.map { event in
            SQLStatement(
                "INSERT INTO events (time, app, environment, customer, type, body) VALUES ($1, $2, $3, $4, $5, $6)",
                SQLValue(Timestamp.now), .text(scope.bundleId.rawValue), .text(scope.environment.rawValue),
                .text(event.customer), .text(event.type.rawValue), .text(event.body))
        }
    }

    /// Returns the key of the customer with a purchase: of its transaction, otherwise of its subscription. Purchases
    /// without a customer have their own id as the key.
    static func eventKey(of transactionId: String?, _ original: String, app: Int64, in db: Database) throws -> String {
        for (column, value) in [("transactionId", transactionId), ("originalTransactionId", original)] {
            let rows = try db.rows(
                """
                SELECT \(dialect.eventKey) FROM customer WHERE id = (
                    SELECT customer FROM transactionRecord
                    WHERE \(column) = ? AND app = ? AND customer IS NOT NULL LIMIT 1)
                """, [value, app])
            if let key = try intact(rows, { try $0.optionalText(0) }).first { return key }
        }
        return original
    }

    static func date(ofRevocation id: String, app: Int64, in db: Database) throws -> Int64? {
        let rows = try db.rows("SELECT date FROM revocation WHERE transactionId = ? AND app = ?", [id, app])
        return try intact(rows) { try $0.integer(0) }.first
    }
}
