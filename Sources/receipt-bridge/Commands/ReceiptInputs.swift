import ArgumentParser
import Foundation

/// The receipts named on a command line: files, or standard input for `-` or no argument.
struct ReceiptInputs: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Files with one receipt each; - or no file for standard input.", valueName: "file"),
        completion: .file())
    var files: [String] = []

    /// Number of bytes that are read of one file (64 MiB). A receipt is far smaller.
    static let maximumSize = 64 << 20

    /// Prints the help of the command if it would wait for what a person types, because that looks as if nothing
    /// happened.
    ///
    /// - Throws: ``ExitCode``: no receipt was checked, which must not look like success.
    func requireInput(of command: any ParsableCommand.Type) throws {
        guard files.isEmpty, Terminal.inputIsTerminal else { return }
        Terminal.note(ReceiptBridge.helpMessage(for: command) + "\n")
        throw ExitCode.usage
    }

    /// Reads one file at a time, in order. The bytes are `nil` if a file cannot be read.
    var all: some Sequence<(name: String, bytes: [UInt8]?)> {
        (files.isEmpty ? ["-"] : files).lazy.map { (name: $0, bytes: Self.read($0)) }
    }

    /// Reads a file, or standard input for `-`, up to ``maximumSize``. Returns `nil` if it cannot be read.
    static func read(_ name: String) -> [UInt8]? {
        guard let handle = name == "-" ? .standardInput : FileHandle(forReadingAtPath: name) else { return nil }
        defer { if name != "-" { try? handle.close() } }
        return (try? handle.read(upToCount: maximumSize) ?? Data()).map { [UInt8]($0) }
    }
}
