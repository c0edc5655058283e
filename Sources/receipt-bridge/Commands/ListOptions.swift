import ReceiptBridgeAdministration
import ReceiptBridgeAppStore
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeCore
import ReceiptBridgeComparison

/// Options of the commands that work through a list of ids, and resume where they stopped.
struct ListOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Work through the ids in this file, one a line; - is standard input.", valueName: "file"),
        completion: .file())
    var ids: String?
    @OptionGroup var quiet: QuietOption
    @Option(
        name: [.customLong("to"), .customShort("o")],
        help: ArgumentHelp("With --ids: write results to this JSONL file.", valueName: "file.jsonl"),
        completion: .file())
    var destination: String?
    @Option(
        help: ArgumentHelp(
            "With --ids: share of Apple's rate limits to use, 0.01 to 1; a running server uses the same limits.",
            valueName: "share"))
    var budget = Share(value: 0.5)
    @Option(help: ArgumentHelp("With --ids: at most this many ids in this run.", valueName: "ids"))
    var limit: RowCount?
    @Option(help: ArgumentHelp("With --ids: stop starting new work after this many hours.", valueName: "hours"))
    var maxHours: Hours?
    @Flag(help: "With --ids: start over instead of resuming.")
    var fresh = false

    mutating func validate() throws {
        if destination == "-" { destination = nil }
        guard ids != nil || (destination == nil && limit == nil && maxHours == nil && !fresh) else {
            throw ValidationError("--to, --limit, --max-hours and --fresh need --ids")
        }
        try budget.check("--budget")
        try limit?.check("--limit")
        try maxHours?.check("--max-hours")
    }

    /// The maximum size of a list in bytes. Larger ones must be split.
    private static let maximumSize = 32 << 20

    /// Reads a file of ids.
    static func bytes(of path: String) throws(InvalidOperation) -> [UInt8] {
        do throws(UnreadableFile) { return try ReceiptInputs.read(path) } catch {
            throw InvalidOperation("--ids: \(error.reason)")
        }
    }

    /// Runs or resumes the list of `--ids`, if there is one, and prints the summary.
    ///
    /// - Parameters:
    ///   - options: Stands for the command and its options.
    ///   - startsOver: Whether a run that finished starts over when the command is repeated.
    ///   - items: Returns the items of the file; `nil` if it did all there is to do.
    /// - Returns: `false` if there is no list.
    /// - Throws: ``ExitCode`` if the run stopped early, or some items were not successful.
    func run<Item: Sendable>(
        options: String, startsOver: Bool = true, _ items: ([UInt8]) async throws -> [Item]?,
        _ perform: @escaping @Sendable (_ run: String, Item, CallOptions) async throws -> ListResult
    ) async throws -> Bool {
        guard let path = ids else { return false }
        let bytes = try Self.bytes(of: path)
        guard bytes.count <= Self.maximumSize else {
            throw InvalidOperation("--ids: the file is larger than 32 MiB", hint: "split it")
        }
        guard let items = try await items(bytes) else { return true }
        let digest = SHA.hex(bytes, with: .sha256)
        let name = destination ?? path
        guard name != "-" else { throw InvalidOperation("--ids -: a list from standard input needs --to") }
        let file = URL(filePath: name).standardizedFileURL.path + ".progress"
        var checkpoint = try ListCheckpoint(at: file, for: "\(options) \(digest)", isFresh: fresh)
        if checkpoint.isFinished {
            guard startsOver, destination == nil else {
                Terminal.say(
                    "all ids of this list are done, \(checkpoint.refused) of them without success",
                    hint: "--fresh starts over")
                if checkpoint.refused > 0 { throw ExitCode.someNotVerified }
                return true
            }
            try checkpoint.startOver()
        }
        let run = checkpoint.run
        let monitor = RunMonitor(ListCounts())
        let limits = RunLimits(items: limit.map { Int64($0.value) }, time: maxHours?.duration)
        // A file of an earlier run is truncated to its complete part; another one that is not empty is an error.
        let written = destination.map { URL(filePath: $0).standardizedFileURL.path }
        var output = try LineOutput(path: written, cutAt: checkpoint.size) { Terminal.result($0) }
        if written != nil { try checkpoint.begin() }
        let stop = try await ProgressLine().showing({ Self.progress(monitor.now) }, stop: { monitor.stop() }) {
            try await ListRun.run(items, limits: limits, monitor: monitor, to: &output, &checkpoint) {
                try await perform(run, $0, $1)
            }
        }
        try checkpoint.end(of: items.count)
        let counts = monitor.now
        Terminal.inform(
            "\(counts.done) of \(counts.items) ids: \(counts.refused) without success, \(counts.failed) failed for now")
        if let stop { throw stop.exit() }
        guard counts.failed == 0 else {
            Terminal.say("run the same command again to retry the ids that failed")
            throw ExitCode.limit
        }
        if counts.refused > 0 { throw ExitCode.someNotVerified }
        return true
    }

    /// The progress so far.
    private static func progress(_ counts: ListCounts) -> ProgressText {
        var parts: [ProgressText.Part] = [
            .init("\(Int64(counts.done).grouped) of \(Int64(counts.items).grouped) ids", importance: 5)
        ]
        if counts.refused > 0 {
            parts.append(.init("\(Int64(counts.refused).grouped) without success", importance: 3))
        }
        if counts.failed > 0 { parts.append(.init("\(Int64(counts.failed).grouped) failed", importance: 4)) }
        let fraction = counts.items > 0 ? Double(counts.done) / Double(counts.items) : nil
        return ProgressText(parts, fraction: fraction, items: Int64(counts.done))
    }
}
