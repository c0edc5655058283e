import ReceiptBridgeCore
import ArgumentParser
import Foundation
import Logging
import UnixSignals

/// Ctrl-C and SIGTERM handling of commands that can be resumed.
enum StopSignals {
    /// The first signal asks the work to stop at its next step. The second signal ends the process at once, because a
    /// read may wait forever. Progress that was saved before is available to the next run.
    ///
    /// Signals are handled as soon as the function returns, so that work which begins afterwards is never killed.
    static func watching(_ stop: @escaping @Sendable () -> Void) async -> Task<Void, Never> {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        return Task {
            var isFirst = true
            for await _ in signals {
                guard isFirst else {
                    Terminal.say("stopped at once by a second signal")
                    _exit(3)
                }
                isFirst = false
                stop()
            }
        }
    }
}

/// Disables core dumps, because a dump of the server would contain secrets, private keys and receipts.
///
/// Only the soft limit is lowered, so that `prlimit --core=unlimited --pid PID` still allows a dump for a diagnosis.
/// `PR_SET_DUMPABLE` is not used: it would make the files in `/proc/PID` belong to root, so that monitoring as the
/// server's own user could not read them.
enum CoreDumps {
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
    #else
        private static let resource = RLIMIT_CORE
    #endif

    /// Sets the soft limit of core dumps to 0. A failure is ignored.
    static func disable() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = 0
        setrlimit(resource, &limit)
    }
}

extension Logger {
    static func toStandardError(
        level: Logger.Level, format: LogFormatName = .auto, metadataProvider: Logger.MetadataProvider? = nil
    ) -> Logger {
        var logger = Logger(label: "receipt-bridge") { _ in
            LineLogHandler(format: format.isText ? .forPeople : .json, metadataProvider: metadataProvider)
        }
        logger.logLevel = level
        return logger
    }
}

enum LogFormatName: String, ExpressibleByArgument, CaseIterable {
    case json, text, auto

    /// By default lines for people are for terminals only.
    var isText: Bool { self == .text || (self == .auto && isatty(STDERR_FILENO) == 1) }
}

extension LogFormat {
    /// Lines for people, colored by level.
    fileprivate static let forPeople = LogFormat.text(
        level: { name, level in
            let style: TextStyle? =
                switch level {
                case .trace, .debug: .dim
                case .info, .notice: nil
                case .warning: .warning
                case .error, .critical: .bad
                }
            return Terminal.style(name, as: style)
        }, details: { Terminal.style($0, as: .dim) })
}
