import ArgumentParser
import Foundation

/// Everything that people read passes here.
///
/// - Results go to standard output, everything else to standard error.
/// - Messages begin with `receipt-bridge:`, in lower case, without a full stop; a hint follows where there is one.
/// - No receipt and no secret is ever part of a message.
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

    static func line(_ text: String) {
        line(Array(text.utf8))
    }

    /// Text for people, as it stands.
    static func note(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    static func say(_ message: String, hint: String? = nil) {
        var text = "receipt-bridge: \(message)\n"
        if let hint { text += "receipt-bridge: hint: \(hint)\n" }
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    static var resultsGoToTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
}
