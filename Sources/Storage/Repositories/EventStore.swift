/// The changes of customers, in the order in which they can be replayed. An event is stored in the transaction that
/// makes the change.
package protocol EventStore: SQLEngine {
    /// Returns the sequence up to which no event can be added any more. Events above it may be incomplete: a
    /// transaction that has not ended can still add one with a lower sequence than an event that can be read.
    func eventHorizon() async throws(StorageError) -> Int64
}

extension EventStore {
    /// Maximum number of events that are read at once.
    private static var pageSize: Int { 200 }

    /// Passes all events above a sequence to `body`, page by page. Events that are stored meanwhile are left out.
    ///
    /// - Returns: the sequence of the last event; `nil` if there was none.
    package func readEvents(
        after sequence: Int64, _ body: ([EventRow]) -> Void
    ) async throws(StorageError) -> Int64? {
        let horizon = try await eventHorizon()
        var last: Int64?
        while true {
            let page = try await events(after: last ?? sequence, upTo: horizon, limit: Self.pageSize)
            guard let end = page.last else { return last }
            body(page)
            last = end.sequence
        }
    }

    /// Returns events in ascending order of their sequence.
    ///
    /// - Parameters:
    ///   - sequence: only events above it.
    ///   - horizon: only events up to it, see ``eventHorizon()``.
    ///   - limit: maximum number of events.
    package func events(
        after sequence: Int64, upTo horizon: Int64, limit: Int
    ) async throws(StorageError) -> [EventRow] {
        try await page(after: sequence, limit: limit) { sequence in
            SQLStatement(
                """
                SELECT sequence, time, app, environment, customer, type, body FROM events
                WHERE sequence > $1 AND sequence <= $2 ORDER BY sequence LIMIT $3
                """, .integer(sequence), .integer(horizon), .integer(Int64(limit)))
        } _: { (row) throws(StorageError) in
            EventRow(
                sequence: try row.integer(0), time: try row.timestamp(1), app: try row.text(2),
                environment: try row.text(3), customer: try row.text(4), type: try row.text(5), body: try row.text(6))
        }
    }
}
