import ReceiptBridgeReceipts
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeBatch
import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeTransport

/// The `compare` command: compares verifyReceipt with the App Store Server API.
struct CompareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Compares verifyReceipt with the App Store Server API, receipt by receipt.",
        discussion: """
            SOURCE is JSONL, CSV (both also in .gz), a SQLite database, a directory of files, or - for JSONL on standard input. \
            A row is either a stored receipt, which is looked up with both APIs (--config), or a line of JSON with both \
            recorded responses: {"id", "verifyReceipt": {…}, "history": {…}, "statuses": {…}}. Signed rows in it are \
            verified, decoded rows are marked as unverified. Each difference is a line of JSON, on standard output or in \
            --to FILE. With --to, running the same command again resumes the comparison and retries temporary failures.

            Exit codes: 0 success; 1 done, but rows could not be compared or, with --fail-on-diff, differ unexpectedly; \
            2 usage, configuration, or a source that is not the one this comparison started with; 3 stopped by a limit, \
            by a shared secret or key that Apple rejects, or by a temporary failure.

            Example:
              receipt-bridge compare receipts.jsonl --config receipt-bridge.yaml \\
                  --to differences.jsonl --report comparison.html
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup(title: "Source and run") var rows: BatchOptions
    @OptionGroup var quiet: QuietOption

    @Argument(
        help: ArgumentHelp("The receipts or recorded pairs to compare.", valueName: "source"), completion: .file())
    var source: String

    @Option(
        name: [.customLong("to"), .customShort("o")],
        help: ArgumentHelp(
            "Write differences to this JSONL file; progress is stored in FILE.progress.", valueName: "file"),
        completion: .file())
    var destination: String?

    @Option(
        help: ArgumentHelp("Write a report; the name ends in .html, .json or .md.", valueName: "file"),
        completion: .file())
    var report: [String] = []

    @Flag(help: "Exit with 1 if there are unexpected differences.")
    var failOnDiff = false

    @Flag(help: "With --to: print the report as JSON on standard output instead of the summary.")
    var json = false

    @Option(
        help: ArgumentHelp(
            """
            Number of receipts whose two documents the page shows side by side, 0 to 1000; those with unexpected \
            differences come first.
            """, valueName: "number"))
    var pairs = 40

    mutating func validate() throws {
        if destination == "-" { destination = nil }
        guard (0...ComparisonPage.maximumPairs).contains(pairs) else {
            throw ValidationError("--pairs: 0 to \(ComparisonPage.maximumPairs)")
        }
        guard !rows.fresh || destination != nil else { throw ValidationError("--fresh needs --to") }
        guard !json || destination != nil else {
            throw ValidationError("--json needs --to: without it, standard output has the differences, which are JSON")
        }
        for path in report where !["html", "json", "md"].contains(where: { path.hasSuffix(".\($0)") }) {
            throw ValidationError("--report: the name must end in .html, .json or .md")
        }
    }

    func run() async throws {
        let (settings, trust) = try ConfigurationOptions.reporting {
            let settings = try configuration.settingsWithRoots()
            return (settings, try TrustStore(settings: settings))
        }
        guard settings.apps.contains(where: { $0.serverAPI != nil }) else {
            return try await run(comparer(settings, trust), settings)
        }
        try await settings.withBatchClient(
            trust: trust, share: rows.budget.value, store: { await SharedStore.open(settings) }
        ) { try await run(comparer(settings, trust, asking: $0, over: $1), settings) }
    }

    private func comparer(
        _ settings: ProxyConfiguration, _ trust: TrustStore, asking serverAPI: ServerAPISource? = nil,
        over transport: CurlTransport? = nil
    ) throws -> RowComparer {
        let verifyReceipt = try ConfigurationOptions.reporting {
            try BatchVerifyReceipt(settings: settings, trust: trust, transport: transport)
        }
        // If an app is configured twice, the last entry applies.
        let overrides = Dictionary(
            settings.apps.compactMap { app in app.bundleId.map { ($0.rawValue, app.comparisonRules) } },
            uniquingKeysWith: { $1 })
        return RowComparer(trust: trust, verifyReceipt: verifyReceipt, asking: serverAPI, overrides: overrides)
    }

    /// Comparisons of recorded pairs are limited by the processor, so there is one worker per core. Lookups wait for
    /// the network, so there are 16.
    private func options(asks: Bool) -> ComparisonRunOptions {
        var options = ComparisonRunOptions(
            source: source, workers: rows.workers ?? (asks ? 16 : ProcessInfo.processInfo.activeProcessorCount))
        options.destination = destination
        options.sourceOptions = rows.sourceOptions()
        options.isFresh = rows.fresh
        options.limits = RunLimits(items: rows.rowLimit, time: rows.timeLimit)
        options.reports = report
        options.shownPairs = pairs
        options.checkpointInterval = rows.checkpointInterval
        return options
    }

    /// Runs the comparison and prints its summary. Ctrl-C stops it at the next checkpoint.
    private func run(_ comparer: RowComparer, _ settings: ProxyConfiguration) async throws {
        let monitor = RunMonitor(ComparisonStatus())
        let result: ComparisonRun.ComparisonEnding
        do {
            let progress = { @Sendable () -> ProgressText? in monitor.now.progress(wait: comparer.rateLimitWait) }
            result = try await ProgressLine().showing(progress, stop: { monitor.stop() }) {
                let run = try ComparisonRun(options(asks: comparer.isLive), comparer: comparer, monitor: monitor) {
                    Terminal.result($0)
                }
                for notice in run.notices { Terminal.say(notice, as: .warning) }
                return try await run.run()
            }
        } catch let error as RunError {
            Terminal.say("\(error)", as: .bad)
            throw error.exit
        }
        if json {
            Terminal.line(result.report.json)
        } else if !Terminal.isQuiet {
            Terminal.note(ComparisonTable.text(result))
        }
        let withoutKey = result.report.apps.filter { $0.failures["appNotConfigured"] != nil }
            .map { ($0.scope.bundleId, $0.failures["appNotConfigured"] ?? 0) }
        for sentence in AppRegistry(settings: settings).rowsWithoutKey(Dictionary(withoutKey, uniquingKeysWith: +)) {
            Terminal.say(sentence, as: .warning)
        }
        if !comparer.isLive, result.compared == 0, result.failed > 0 {
            Terminal.say(
                "stored receipts were not looked up, because no App Store Server API key is configured",
                hint: "specify a configuration with serverAPI by --config or RECEIPT_BRIDGE_CONFIG")
        }
        if let stop = result.stop { throw stop.exit(isResumable: destination != nil) }
        if result.failed > 0 || (failOnDiff && result.unexpected > 0) { throw ExitCode.someNotVerified }
    }
}
