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

    /// - Parameter metadataProvider: Metadata that is added to every line, for example the id of the current request.
    package init(
        format: LogFormat = .json, metadataProvider: Logger.MetadataProvider? = nil,
        output: NonBlockingLogOutput = .standardError
    ) {
        (self.format, self.metadataProvider, self.output) = (format, metadataProvider, output)
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Metadata of the event overrides that of the provider, which overrides that of the logger.
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
