import Foundation
package import Logging

/// Writes one JSON object a line to standard error: `time`, `level`, `message` and the metadata.
///
/// Receipts and secrets are types that print as `***`, so they cannot come in through metadata.
package struct JSONLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel = Logger.Level.notice
    package var metadataProvider: Logger.MetadataProvider?

    private static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()

    /// - Parameter metadataProvider: what every line says of its surroundings.
    package init(metadataProvider: Logger.MetadataProvider? = .request) {
        self.metadataProvider = metadataProvider
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var members = [
            "time": Date().formatted(.iso8601), "level": event.level.rawValue, "message": "\(event.message)",
        ]
        let surroundings = metadata.merging(metadataProvider?.get() ?? [:], uniquingKeysWith: { $1 })
        for (key, value) in surroundings.merging(event.metadata ?? [:], uniquingKeysWith: { $1 }) {
            members[key] = "\(value)"
        }
        guard let line = try? Self.encoder.encode(members) else { return }
        try? FileHandle.standardError.write(contentsOf: line + Data([0x0A]))
    }
}
