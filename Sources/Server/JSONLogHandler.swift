import Foundation
package import Logging

/// Writes one JSON object per line to standard error: `time`, `level`, `message` and the metadata. Example:
///
///     {"appleStatus":"21005","level":"warning","message":"…","time":"2025-06-01T12:00:00Z"}
///
/// Receipts and secrets are values of types that print as `***`, so metadata cannot contain them. Other values may
/// hold any text of a request, so control characters and invisible characters are written as JSON escapes.
package struct JSONLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel = Logger.Level.notice
    package var metadataProvider: Logger.MetadataProvider?

    private static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()

    private let output: NonBlockingLogOutput

    /// - Parameters:
    ///   - metadataProvider: Metadata that is added to every line, for example the id of the current request.
    ///   - output: The destination of the lines.
    package init(metadataProvider: Logger.MetadataProvider? = .request, output: NonBlockingLogOutput = .standardError) {
        self.metadataProvider = metadataProvider
        self.output = output
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var members: [String: String] = [:]
        let surroundings = metadata.merging(metadataProvider?.get() ?? [:], uniquingKeysWith: { $1 })
        for (key, value) in surroundings.merging(event.metadata ?? [:], uniquingKeysWith: { $1 }) {
            members[key] = "\(value)"
        }
        output.write(Self.line(event.level, "\(event.message)", members)) { missing in
            Self.line(.warning, "log output was not read fast enough; log lines dropped", ["dropped": "\(missing)"])
        }
    }

    /// Returns one line of the log, with its line feed.
    private static func line(_ level: Logger.Level, _ message: String, _ metadata: [String: String]) -> [UInt8] {
        let head = ["time": Date().formatted(.iso8601), "level": level.rawValue, "message": message]
        // Encoding cannot fail, because all keys and values are strings.
        let line = try? encoder.encode(head.merging(metadata, uniquingKeysWith: { $1 }))
        return line.map { escapingControls([UInt8]($0)) + [0x0A] } ?? []
    }
}
