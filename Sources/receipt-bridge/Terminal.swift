import Foundation

/// Everything that people read passes here.
///
/// - Results go to standard output, everything else to standard error.
/// - Messages begin with `receipt-bridge:`, in lower case, without a full stop; a hint follows where there is one.
/// - No receipt and no secret is ever part of a message.
enum Terminal {
    /// Writes a result.
    static func result(_ bytes: [UInt8]) {
        try? FileHandle.standardOutput.write(contentsOf: Data(bytes))
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
