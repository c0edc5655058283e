import ArgumentParser
import ReceiptBridgeBatch
import ReceiptBridgeBase
import Foundation

/// Options of the commands that process stored receipts row by row and can be resumed (`migrate`, `compare`).
struct BatchOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The column or key with the receipt (default: receipt, or the only one with another name of Apple's).",
            valueName: "column"))
    var receiptColumn: String?

    @Option(help: ArgumentHelp("The column or key with the row's id (default: id, if present).", valueName: "column"))
    var idColumn: String?

    @Option(
        help: ArgumentHelp("The table of a database (default: the only one, otherwise receipts).", valueName: "name"))
    var table: String?

    @Flag(help: "Start over instead of resuming.")
    var fresh = false

    @Option(
        help: ArgumentHelp(
            "Share of Apple's hourly rate limits to use, 0.01 to 1; a running server uses the same limits.",
            valueName: "share"))
    var budget = Share(value: 0.5)

    @Option(
        help: ArgumentHelp(
            "Number of rows or batches processed at the same time (default: one per core; 16 if both APIs are called).",
            valueName: "number"))
    var workers: Int?

    @Option(help: ArgumentHelp("Process at most this many rows of the source in this run.", valueName: "rows"))
    var limit: RowCount?

    @Option(help: ArgumentHelp("Stop starting new work after this many hours.", valueName: "hours"))
    var maxHours: Hours?

    @Option(help: .hidden)
    var checkpointMilliseconds = 1_000

    var rowLimit: Int64? { limit.map { Int64($0.value) } }
    var timeLimit: Duration? { maxHours?.duration }
    var checkpointInterval: Duration { .milliseconds(checkpointMilliseconds) }

    func sourceOptions(accountTokenColumn: String? = nil, transactionIdColumn: String? = nil) -> SourceOptions {
        SourceOptions(
            receiptColumn: receiptColumn, idColumn: idColumn, accountTokenColumn: accountTokenColumn,
            transactionIdColumn: transactionIdColumn, table: table)
    }

    func validate() throws {
        try budget.check("--budget")
        guard (1...1_024).contains(workers ?? 1) else { throw ValidationError("--workers: 1 to 1024") }
        try limit?.check("--limit")
        try maxHours?.check("--max-hours")
    }
}

extension RunError {
    /// A run that cannot start exits with 2, an interrupted one with 3.
    var exit: ExitCode {
        switch self {
        case .notPossible: .usage
        case .interrupted: .limit
        }
    }
}

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
