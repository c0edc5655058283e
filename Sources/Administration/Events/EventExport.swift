import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// The forms of exported events.
package enum EventExport {
    /// The form of a line. JSON lines contain the body as an object, CSV contains it as text.
    package enum Format: String, Sendable, CaseIterable {
        case jsonl, csv
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
