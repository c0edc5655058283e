import ArgumentParser
import ReceiptBridgeBase
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

    var all: some Sequence<(name: String, bytes: Result<[UInt8], UnreadableFile>)> {
        (files.isEmpty ? ["-"] : files).lazy.map { name in
            (name: name, bytes: Result { () throws(UnreadableFile) in try Self.read(name) })
        }
    }

    /// Reads a file, or standard input for `-`, up to ``maximumSize``.
    static func read(_ name: String) throws(UnreadableFile) -> [UInt8] {
        do throws(SystemFailure) {
            let file =
                try name == "-"
                ? FileDescriptor(STDIN_FILENO, isOwned: false) : FileDescriptor(reading: name, waits: true)
            return try file.readToEnd(atMost: maximumSize)
        } catch {
            throw UnreadableFile(reason: "\(name): cannot be read: \(error.reason(for: name))")
        }
    }
}

struct UnreadableFile: Error {
    /// A sentence that begins with the name of the file.
    let reason: String
}
