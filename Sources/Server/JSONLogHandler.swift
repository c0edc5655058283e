import Foundation
package import Logging

/// Writes one JSON object a line to standard error: `time`, `level`, `message` and the metadata.
///
/// Receipts and secrets are types that print as `***`, so they cannot come in through metadata.
package struct JSONLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel = Logger.Level.notice

    private static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()

    package init() {}

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var members = [
            "time": Date().formatted(.iso8601), "level": event.level.rawValue, "message": "\(event.message)",
        ]
        for (key, value) in metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 }) {
            members[key] = "\(value)"
        }
        guard let line = try? Self.encoder.encode(members) else { return }
        try? FileHandle.standardError.write(contentsOf: line + Data([0x0A]))
    }
}
