import Foundation
import Logging
import Server

extension Logger {
    /// One JSON object a line on standard error.
    static func toStandardError(level: Logger.Level) -> Logger {
        var logger = Logger(label: "receipt-bridge") { _ in JSONLogHandler() }
        logger.logLevel = level
        return logger
    }
}
