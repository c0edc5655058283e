import Foundation
import Synchronization

/// How far something is, on standard error: a line that is rewritten on a terminal, a plain one every few seconds anywhere
/// else.
final class ProgressLine: Sendable {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let hasLine = Mutex(false)

    /// Between two lines.
    var pause: Duration { isTerminal ? .milliseconds(250) : .seconds(5) }

    func show(_ line: String) {
        guard isTerminal else { return Terminal.say(line) }
        hasLine.withLock { $0 = true }
        Terminal.note("\r\u{1B}[2K\(Terminal.visible(line))")
    }

    /// Makes room for other lines.
    func clear() {
        let had = hasLine.withLock { had in
            defer { had = false }
            return had
        }
        if had { Terminal.note("\r\u{1B}[2K") }
    }
}
