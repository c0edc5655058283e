/// The changes of customers, in the order in which they can be replayed. An event is stored in the transaction that
/// makes the change.
package protocol EventStore: SQLEngine {
    /// Returns the sequence up to which no event can be added any more. Events above it may be incomplete: a
    /// transaction that has not ended can still add one with a lower sequence than an event that can be read.
    func eventHorizon() async throws(StorageError) -> Int64
}

extension EventStore {
    /// Returns events above the sequence and up to the horizon (``eventHorizon()``) in ascending order, of one type or
    /// of all.
    package func events(
        after sequence: Int64, upTo horizon: Int64, of type: EventType? = nil, limit: Int = 200
    ) async throws(StorageError) -> [EventRow] {
        try await page(after: sequence, limit: limit) { sequence in
            SQLStatement(
                """
                SELECT sequence, time, app, environment, customer, type, body FROM events
                WHERE sequence > $1 AND sequence <= $2 \(type.map { "AND type = '\($0.rawValue)'" } ?? "")
                ORDER BY sequence LIMIT $3
                """, .integer(sequence), .integer(horizon), .integer(Int64(limit)))
        } _: { (row) throws(StorageError) in
            EventRow(
                sequence: try row.integer(0), time: try row.timestamp(1), app: try row.text(2),
                environment: try row.text(3), customer: try row.text(4), type: try row.text(5), body: try row.text(6))
        }
    }
}
