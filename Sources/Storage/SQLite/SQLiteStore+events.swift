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
}
