import Foundation
import Logging
import Server

extension Logger {
    /// Returns a logger that writes one JSON object per line to standard error.
    static func toStandardError(level: Logger.Level) -> Logger {
        var logger = Logger(label: "receipt-bridge") { _ in JSONLogHandler() }
        logger.logLevel = level
        return logger
    }
}
