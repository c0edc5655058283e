import ReceiptBridgeBase
package import Logging

/// A log handler that writes one line per event to standard error: the time, the level, the message and the metadata.
///
/// Receipts and secrets are values of types that print as `***`, so metadata cannot contain them. Other values may
/// hold any text of a request; ``LogFormat`` escapes it.
package struct LineLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel = Logger.Level.notice
    package var metadataProvider: Logger.MetadataProvider?

    private let format: LogFormat
    private let output: NonBlockingLogOutput

    /// - Parameters:
    ///   - format: The form of the lines.
    ///   - metadataProvider: Metadata that is added to every line, for example the id of the current request.
    ///   - output: The destination of the lines.
    package init(
        format: LogFormat = .json, metadataProvider: Logger.MetadataProvider? = nil,
        output: NonBlockingLogOutput = .standardError
    ) {
        self.format = format
        self.metadataProvider = metadataProvider
        self.output = output
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes the event. Metadata of the event overrides metadata of the provider, and this overrides metadata of the
    /// logger.
    package func log(event: LogEvent) {
        let surroundings = metadata.merging(metadataProvider?.get() ?? [:], uniquingKeysWith: { $1 })
        let members = surroundings.merging(event.metadata ?? [:], uniquingKeysWith: { $1 })
        output.write(format.line(event.level, "\(event.message)", members, at: .now)) { missing in
            format.line(
                .warning, "log output was not read fast enough; log lines dropped",
                ["dropped": .stringConvertible(missing)], at: .now)
        }
    }
}
