import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import Logging
import ReceiptBridgeComparison
import ReceiptBridgeServer
import ReceiptBridgeStorage

/// The `notifications history` command: fetches missed notifications from Apple's notification history.
struct NotificationHistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Prints the notifications of a time interval; --replay stores those that were missed.",
        discussion: """
            Prints each notification as a line of JSON, on standard output or appended to --to FILE. With --to, running the \
            same command again resumes, and later appends new notifications (progress is stored in FILE.progress). --replay \
            stores each notification as if the App Store had just sent it; notifications that are already stored are not \
            changed, and a server may be running on the same store.

            Exit codes: 0 success; 1 done, but some notifications were not verified or were rejected; 2 usage, \
            configuration; 3 stopped by a limit or a temporary failure.

            Example:
              receipt-bridge notifications history --start 2026-11-01 \\
                  --replay --config receipt-bridge.yaml
            """)

    @OptionGroup var options: OperationOptions
    @OptionGroup var quiet: QuietOption
    @Option(
        help: ArgumentHelp(
            "Start of the interval, for example 2026-11-21 or 2026-11-21T12:00:00Z (default: 180 days ago, in the sandbox 30).",
            valueName: "instant"))
    var start: Instant?
    @Option(help: ArgumentHelp("End of the interval (default: now).", valueName: "instant"))
    var end: Instant?
    @Flag(help: "Only notifications that were not delivered.")
    var onlyFailures = false
    @Option(help: ArgumentHelp("Only notifications of this type, for example REFUND.", valueName: "type"))
    var type: String?
    @Option(help: ArgumentHelp("Only notifications of this subtype; needs --type.", valueName: "subtype"))
    var subtype: String?
    @Option(
        help: ArgumentHelp("Only notifications about the customer of this transaction.", valueName: "transaction-id"))
    var transactionId: String?
    @Flag(help: "Store the notifications as if the App Store had just sent them.")
    var replay = false
    @Option(
        name: [.customLong("to"), .customShort("o")],
        help: ArgumentHelp("Append the lines to this JSONL file.", valueName: "file"),
        completion: .file())
    var destination: String?

    mutating func validate() throws {
        if destination == "-" { destination = nil }
        try start?.check("--start")
        try end?.check("--end")
    }

    /// Length of a window of the history. Progress is saved after each window. A single customer has few notifications,
    /// so one window covers the whole history.
    private var windowLength: Duration { transactionId == nil ? .days(1) : .days(200) }

    func run() async throws {
        try await options.run { context in
            let filter = try HistoryFilter(
                type: type, subtype: subtype, transactionId: transactionId, onlyFailures: onlyFailures)
            let app = try await context.app(of: filter.transactionId.map { .transaction($0) })
            let environment = app.scope.environment
            let receiver = replay ? try await self.receiver(context) : nil
            let interval = try interval(in: environment)
            let query = "\(filter.name) \(start?.value ?? "-") \(replay)"
            var checkpoint = try destination.map { path in
                try HistoryCheckpoint(nextTo: path, for: "\(app.scope.bundleId) \(environment.rawValue) \(query)")
            }
            // A file is truncated to the length in the checkpoint, because a killed run may have written more.
            var output = try LineOutput(path: destination, cutAt: checkpoint?.size) { Terminal.result($0) }
            try checkpoint?.begin()
            let begin = max(interval.start, checkpoint?.done ?? interval.start)
            let catchUp = NotificationCatchUp(
                client: app.client, environment: environment, receiver: receiver, query: filter.query)
            let monitor = RunMonitor((counts: NotificationCatchUp.Counts(), reached: begin))
            let progress = { @Sendable in Self.progress(of: monitor.now, context) }
            let isDone = try await ProgressLine().showing(progress, stop: { monitor.stop() }) {
                try await catchUp.run(
                    over: HistoryWindows(from: begin, to: interval.end, length: windowLength),
                    counts: { counts in monitor.change { $0.counts = counts } },
                    checkpoint: { instant in
                        // Only a file has a size.
                        if let size = try output.makeDurable() { try checkpoint?.save(done: instant, size: size) }
                        monitor.change { $0.reached = instant }
                        return !monitor.isStopped
                    }
                ) { try output.append($0.line) }
            }
            try checkpoint?.end()
            let counts = monitor.now.counts
            Terminal.inform(summary(of: counts, from: begin, to: max(begin, interval.end)))
            guard isDone else { throw RunStop.signal.exit(isResumable: destination != nil) }
            if counts.notVerified + counts.refused > 0 { throw ExitCode.someNotVerified }
        }
    }

    private func interval(in environment: AppStoreEnvironment) throws -> HistoryInterval {
        let interval = try HistoryInterval(start: start?.timestamp, end: end?.timestamp, in: environment, now: .now)
        if interval.isClamped {
            let days = HistoryWindows.days(environment)
            Terminal.say("Apple keeps notifications for \(days) days; starting at \(interval.start.iso8601)")
        }
        return interval
    }

    /// Returns `nil` while the line shows how long calls wait for a rate limit.
    private static func progress(
        of now: (counts: NotificationCatchUp.Counts, reached: Timestamp), _ context: CommandContext
    ) -> ProgressText? {
        guard context.clients.rateLimitWait == nil else { return nil }
        return ProgressText([
            .init("\(now.counts.records) notifications", importance: 1),
            .init("up to \(now.reached.iso8601)", importance: 0),
        ])
    }

    /// Returns the receiver that stores notifications exactly as the server does.
    private func receiver(_ context: CommandContext) async throws -> NotificationReceiver {
        guard let store = context.store else { throw InvalidOperation.storeIsMissing(for: "--replay") }
        let services = try ServiceGraph(
            settings: context.settings, transport: context.transport, store: store, tables: context.settings.tables,
            logger: .toStandardError(level: .error))
        await services.whenLoaded()
        return services.notifications
    }

    /// Returns the numbers of notifications by result.
    private func summary(of counts: NotificationCatchUp.Counts, from start: Timestamp, to end: Timestamp) -> String {
        var text = "\(counts.records) notifications from \(start.iso8601) to \(end.iso8601)"
        if replay { text += ": \(counts.new) new, \(counts.known) already stored" }
        if counts.refused > 0 { text += ", \(counts.refused) rejected" }
        if counts.notVerified > 0 { text += ", \(counts.notVerified) not verified" }
        return text
    }
}
