import ReceiptBridgeCore
import ArgumentParser
import ReceiptBridgeBase
import Foundation
import ReceiptBridgeComparison
import Synchronization

/// Writes all output for users.
///
/// - Results go to standard output, everything else to standard error.
/// - Messages begin with `receipt-bridge:`, in lower case, without a full stop. A hint may follow on a second line.
/// - No message contains a receipt or a secret.
/// - Text from outside, for example a file name, cannot control the terminal: invisible characters are replaced by
///   their code points. In output for programs they stay as they are, or are escaped if it goes to a terminal.
enum Terminal {
    /// Writes a result. If that fails, for example because the reader of a pipe has exited, the command ends at once:
    /// a result that was not written must not be recorded as reported.
    static func result(_ bytes: [UInt8]) {
        let bytes = resultsGoToTerminal ? LogFormat.escapingControls(bytes) : bytes
        do throws(SystemFailure) {
            try FileDescriptor(STDOUT_FILENO, isOwned: false).writeAll(bytes)
        } catch {
            say("standard output: \(String(cString: strerror(error.code)).lowercased())")
            _exit(ExitCode.limit.rawValue)
        }
    }

    /// Writes a result and a line feed.
    static func line(_ bytes: [UInt8]) { result(bytes + [0x0A]) }

    /// Writes text for people and a line feed.
    static func line(_ text: String) { line(Array(visible(text).utf8)) }

    /// Writes text to standard error unchanged. The caller has made outside text visible.
    static func note(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }

    /// Writes a message to standard error, and a hint below it.
    static func say(_ message: String, hint: String? = nil, as messageStyle: TextStyle? = nil) {
        let name = style("receipt-bridge:", as: .dim)
        var text = "\(name) \(style(visible(message), as: messageStyle))\n"
        if let hint { text += "\(name) \(style("hint:", as: .heading)) \(visible(hint))\n" }
        note(text)
    }

    /// Writes a message that is neither an error nor a warning: a summary, or where a result is. Not with `--quiet`.
    static func inform(_ message: String, hint: String? = nil) {
        if !isQuiet { say(message, hint: hint) }
    }

    /// Replaces control characters, bidirectional marks and similar characters by their code points, for example
    /// `[U+001B]`. Line breaks are kept.
    static func visible(_ text: String) -> String {
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { PrintableText.text(of: String($0)) }.joined(separator: "\n")
    }

    /// Returns a table of names and numbers, which are aligned to the right.
    static func aligned(_ lines: [(String, String)]) -> String { aligned(lines.map { [$0.0, $0.1] }, numbers: [1]) }

    /// Returns a table with two spaces between its columns, all lines of which have the same number of cells.
    ///
    /// - Parameter numbers: The columns that are aligned to the right.
    static func aligned(_ lines: [[String]], numbers: Set<Int>) -> String {
        let widths = (lines.first ?? []).indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            let cells = line.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                return numbers.contains(column) ? padding + cell : cell + padding
            }
            return cells.joined(separator: "  ") + "\n"
        }.joined()
    }

    /// Asks a question and returns the line that the user types; `nil` if standard input or standard error is not a
    /// terminal.
    static func answer(to question: String) -> String? {
        guard inputIsTerminal, messagesGoToTerminal else { return nil }
        note("receipt-bridge: \(visible(question)): ")
        return readLine() ?? ""
    }

    /// Returns the width of the terminal in columns; 80 if it is unknown.
    static func columns(of descriptor: Int32) -> Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    static let resultsGoToTerminal = isatty(STDOUT_FILENO) == 1
    static let messagesGoToTerminal = isatty(STDERR_FILENO) == 1
    /// Whether a person types the input.
    static let inputIsTerminal = isatty(STDIN_FILENO) == 1

    private static let quiet = Atomic(false)

    /// Whether progress and summaries are left out.
    static var isQuiet: Bool {
        get { quiet.load(ordering: .relaxed) }
        set { quiet.store(newValue, ordering: .relaxed) }
    }
}

/// The exit codes of all commands.
extension ExitCode {
    /// The command is done, but some inputs were rejected, differ, or are not verified.
    static let someNotVerified = ExitCode(1)
    /// The command line or the configuration is wrong.
    static let usage = ExitCode(2)
    /// Stopped by a limit or by a temporary condition: a rate limit, an unreachable App Store, a key that Apple
    /// rejects. The same command resumes.
    static let limit = ExitCode(3)
    /// A defect of this program.
    static let defect = ExitCode(70)
}

extension RunStop {
    /// Prints why a run stopped, and returns the exit code to throw.
    func exit(isResumable: Bool = true) -> ExitCode {
        Terminal.say(
            "stopped: \(sentence)\(isResumable ? "; run the same command again to resume" : "")", as: .warning)
        return .limit
    }
}
