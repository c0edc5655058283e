import Base
package import Storage

/// Exports the table of events, in ascending order of the sequences. Reads page by page, so that the size of the table
/// does not matter.
package enum EventExport {
    /// The form of a line. JSON lines contain the body as an object, CSV contains it as text.
    package enum Format: String, Sendable, CaseIterable {
        case jsonl, csv
    }

    /// What was exported.
    package struct Summary: Sendable, Hashable {
        package var count = 0
        /// The sequence to continue from.
        package var last: Int64
        /// The sequence of the oldest event in the store, if there is room between it and the one to begin after.
        /// Events in between may have expired.
        package var oldest: Int64?
    }

    /// Passes the lines of all events above a sequence to `write`, several at a time. Events that are stored meanwhile are
    /// left out.
    package static func run(
        _ store: any EventStore, as format: Format, after sequence: Int64, of type: EventType? = nil,
        _ write: ([UInt8]) -> Void
    ) async throws(StorageError) -> Summary {
        var summary = Summary(last: sequence)
        if sequence > 0 {
            let oldest = try await store.events(after: 0, upTo: .max, limit: 1).first?.sequence
            if let oldest, oldest - 1 > sequence { summary.oldest = oldest }
        }
        if let header = format.header { write(header + [0x0A]) }
        let horizon = try await store.eventHorizon()
        while true {
            let page = try await store.events(after: summary.last, upTo: horizon, of: type)
            guard let last = page.last else { return summary }
            summary.count += page.count
            summary.last = last.sequence
            write(page.flatMap { format.line($0) + [0x0A] })
        }
    }
}

extension EventExport.Format {
    /// The names of the columns. They are part of the interface.
    private static let columns = ["sequence", "time", "app", "environment", "customer", "type", "body"]

    /// The first line of a file, without a line feed; `nil` if there is none.
    package var header: [UInt8]? { self == .csv ? Array(Self.columns.joined(separator: ",").utf8) : nil }

    /// The line of an event, without a line feed.
    package func line(_ event: EventRow) -> [UInt8] { self == .csv ? Self.csv(event) : Self.json(event) }

    private static func json(_ event: EventRow) -> [UInt8] {
        JSONWriter.object(reserving: event.body.utf8.count + 256) {
            $0.member("sequence", event.sequence)
            $0.member("time", event.time.milliseconds)
            $0.member("app", event.app)
            $0.member("environment", event.environment)
            $0.member("customer", event.customer)
            $0.member("type", event.type)
            $0.member("body", json: Array(event.body.utf8))
        }
    }

    /// Fields as in RFC 4180; lines end with LF.
    private static func csv(_ event: EventRow) -> [UInt8] {
        let body = "\"\(event.body.replacing("\"", with: "\"\""))\""
        return Array(
            "\(event.sequence),\(event.time.milliseconds),\(event.app),\(event.environment),\(event.customer),\(event.type),\(body)"
                .utf8)
    }
}
