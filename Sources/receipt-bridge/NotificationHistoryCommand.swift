import ArgumentParser
import Foundation
import Ledger
import Logging
import Operations
import Pipeline
import Rendering
import StoreTypes
import StoredRows

/// The `notifications history` command: fetches missed notifications from Apple's notification history.
struct NotificationHistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Prints the notifications of a span of time, and with --replay takes in those that were missed.",
        discussion: """
            A notification is a line of JSON, on standard output or at the end of --to FILE; with --to the same command goes \
            on where it stopped, and later with what came since (FILE.progress). --replay stores each as if it came now; \
            what is there already stays as it is, and a server may run on the same store.

            Exit codes: 0 all well; 1 done, with some not verified or not taken; 2 usage, configuration; 3 stopped by a \
            limit, or by something that passes.

            Example:
              receipt-bridge notifications history --start 2026-11-01 \\
                  --replay --config bridge.yaml
            """)

    @OptionGroup var options: OperationOptions
    @Option(
        help: ArgumentHelp(
            "From then on, as 2026-11-21 or 2026-11-21T12:00:00Z (default: 180 days ago, in the sandbox 30).",
            valueName: "instant"))
    var start: String?
    @Option(help: ArgumentHelp("Before then (default: now).", valueName: "instant"))
    var end: String?
    @Flag(help: "Only those that were not delivered, yet or at all.")
    var onlyFailures = false
    @Option(help: ArgumentHelp("Only of this type, as REFUND.", valueName: "type"))
    var type: String?
    @Option(help: ArgumentHelp("Only of this subtype of the type.", valueName: "subtype"))
    var subtype: String?
    @Option(help: ArgumentHelp("Only of the customer of this transaction.", valueName: "transaction-id"))
    var transactionId: String?
    @Flag(help: "Takes them in, as if they came now.")
    var replay = false
    @Option(
        name: .customLong("to"), help: ArgumentHelp("Where the lines go, JSONL; it grows.", valueName: "file"),
        completion: .file())
    var destination: String?

    mutating func validate() throws {
        if destination == "-" { destination = nil }
        for (name, text) in [("start", start), ("end", end)] {
            guard text.map({ Timestamp(instant: $0) != nil }) ?? true else {
                throw ValidationError("--\(name): an instant as 2026-11-21 or 2026-11-21T12:00:00Z")
            }
        }
    }

    /// Length of a window of the history in milliseconds. Progress is saved after each window. It is a day; a single
    /// customer has few notifications, so one window covers the whole history.
    private var windowLength: Int64 { transactionId == nil ? 86_400_000 : 200 * 86_400_000 }

    func run() async throws {
        try await options.run { context in
            let environment = context.scope.environment
            let filter = try HistoryFilter(
                type: type, subtype: subtype, transactionId: transactionId, onlyFailures: onlyFailures)
            let intake = replay ? try self.intake(context) : nil
            let span = try HistoryInterval(
                start: start.flatMap { Timestamp(instant: $0) }, end: end.flatMap { Timestamp(instant: $0) },
                in: environment, now: .now)
            if span.isClamped {
                let days = HistoryInterval.days(environment)
                Terminal.say("Apple remembers \(days) days: this begins at \(span.start.instantText)")
            }
            var state = try destination.map { path in
                try HistoryCheckpoint(
                    besideFile: path,
                    for: "\(context.scope.bundleId) \(environment.rawValue) \(filter.name) \(start ?? "-") \(replay)")
            }
            var output = try self.output(&state)
            let begin = max(span.start, state?.done ?? span.start)
            let catchUp = NotificationCatchUp(
                client: context.client, environment: environment, filter: filter, intake: intake)
            let watch = SweepMonitor()
            let signals = StopSignals.watching { watch.stop() }
            defer { signals.cancel() }
            let display = HistoryDisplay(span: begin..<max(begin, span.end))
            let isDone = try await catchUp.run(
                over: HistoryWindows(from: begin, to: span.end, length: windowLength), to: &output,
                counts: { display.show($0) }
            ) { instant, size in
                if let size { try state?.save(done: instant, size: size) }
                display.reached(instant)
                return !watch.isStopped
            }
            try state?.end()
            display.end(isReplay: replay)
            guard isDone else {
                Terminal.say("stopped: a signal\(destination == nil ? "" : "; the same command goes on")")
                throw ExitCode.limit
            }
            if display.counts.notVerified + display.counts.refused > 0 { throw ExitCode.someNotVerified }
        }
    }

    private func intake(_ context: CommandContext) throws -> NotificationReceiver {
        let store = try context.requiredStore(for: "--replay")
        return try ServiceGraph(
            settings: context.settings, transport: context.transport, store: store, tables: context.settings.tables,
            logger: .toStandardError(level: .error)
        ).notifications
    }

    private func output(_ state: inout HistoryCheckpoint?) throws -> LineOutput {
        guard let destination else { return LineOutput { Terminal.result($0) } }
        let file = try OutputFile(path: destination, cutAt: state?.size)
        try state?.begin()
        return LineOutput(file: file)
    }
}
