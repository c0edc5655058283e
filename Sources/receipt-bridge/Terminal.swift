import ArgumentParser
import Foundation
import Reports

/// Everything that people read passes here.
///
/// - Results go to standard output, everything else to standard error.
/// - Messages begin with `receipt-bridge:`, in lower case, without a full stop; a hint follows where there is one.
/// - No receipt and no secret is ever part of a message.
/// - Text of others, as the name of a file, is no command to the terminal: characters that cannot be seen are replaced by
///   their numbers in everything but what programs read.
enum Terminal {
    /// Writes a result. One that cannot be written ends the command at once, as a reader who goes away does: what nobody
    /// got is not to be remembered as told.
    static func result(_ bytes: [UInt8]) {
        let failure = bytes.withUnsafeBytes { bytes -> Int32? in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = write(STDOUT_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    var room = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&room, 1, -1)
                } else if errno != EINTR {
                    return errno
                }
            }
            return nil
        }
        guard let failure else { return }
        say("standard output: \(String(cString: strerror(failure)).lowercased())")
        _exit(ExitCode.limit.rawValue)
    }

    /// Writes a result and a line break.
    static func line(_ bytes: [UInt8]) {
        result(bytes + [0x0A])
    }

    /// Writes lines for people.
    static func line(_ text: String) {
        line(Array(visible(text).utf8))
    }

    /// Writes to standard error as it stands: the caller has made text of others visible.
    static func note(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    static func say(_ message: String, hint: String? = nil) {
        var text = "receipt-bridge: \(visible(message))\n"
        if let hint { text += "receipt-bridge: hint: \(visible(hint))\n" }
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    /// Control characters, bidirectional marks and the like by their numbers, as `[U+001B]`; line breaks stay.
    static func visible(_ text: String) -> String {
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { PrintableText.text(of: String($0)) }.joined(separator: "\n")
    }

    /// Asks a question and returns the line that is typed; nil if standard input or standard error is not a terminal.
    static func answer(to question: String) -> String? {
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else { return nil }
        note("receipt-bridge: \(visible(question)): ")
        return readLine() ?? ""
    }

    /// The width of a terminal; 80 if it does not say.
    static func columns(of descriptor: Int32) -> Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    static var resultsGoToTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
}
