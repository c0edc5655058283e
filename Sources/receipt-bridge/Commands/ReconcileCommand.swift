import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import Logging
import ReceiptBridgeComparison
import ReceiptBridgeServer
import ReceiptBridgeStorage
import ReceiptBridgeTransport

/// The `reconcile` command: asks the App Store about changes that no notification reported.
struct ReconcileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract: "Fetches lost notifications, and looks up customers whose subscriptions end about now, and refunds.",
        discussion: """
            Reads Apple's notification history of the window first and receives what is not stored. Then it looks up every \
            customer with a subscription that ends within the window before or after now, or is in billing retry, and reads \
            all refund histories. What only a lookup finds is forwarded to targets with as: camel. A run that was stopped or \
            killed is continued by the next one; a server may be running on the same store. With --refunds-only only the refund \
            histories are read, by the limits of refunds sweep.

            Exit codes: 0 success; 1 done, but some customers could not be asked about; 2 usage, configuration; 3 stopped by \
            a signal or because calls to the App Store fail.

            Example:
              receipt-bridge reconcile --window 7d --config receipt-bridge.yaml
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup var quiet: QuietOption
    @Option(
        help: ArgumentHelp(
            "Time before and after now, for example 12h or 7d (default: reconcile.window, otherwise 3d).",
            valueName: "duration"))
    var window: String?
    @Option(
        help: ArgumentHelp(
            "Share of Apple's rate limits to use, 0.01 to 1; a running server uses the same limits.",
            valueName: "share"))
    var budget = Share(value: 0.5)
    @Flag(help: "Read the refund histories only.")
    var refundsOnly = false
    @Flag(help: "Print the summary as JSON.")
    var json = false

    mutating func validate() throws {
        try budget.check("--budget")
        guard !refundsOnly || window == nil else { throw ValidationError("--window: not with --refunds-only") }
        guard window.map({ ReconcileConfiguration.window($0) != nil }) ?? true else {
            throw ValidationError("--window: must be \(ReconcileConfiguration.windowForm)")
        }
    }

    func run() async throws {
        try await configuration.withResources(storeFor: "reconcile") { settings, transport, store, address in
            guard !refundsOnly else {
                let run = RefundRun(settings: settings, store: store, address: address, share: budget.value)
                return try await run.whileHoldingLease(over: transport) { try await readRefunds(run, $0, $1) }
            }
            try await settings.withClients(over: transport, share: budget.value, store: store) { clients in
                try await run(settings, transport, store, clients)
            }
        }
    }

    private func run(
        _ settings: ProxyConfiguration, _ transport: CurlTransport, _ store: any Store, _ clients: ServerAPISource
    ) async throws {
        guard clients.isConfigured else { throw InvalidOperation.serverAPIIsMissing }
        let services = try ServiceGraph(
            settings: settings, transport: transport, store: store, tables: settings.tables,
            logger: .toStandardError(level: .error))
        await services.whenLoaded()
        let progress = ReconciliationProgress()
        let reconciliation = Reconciliation(
            receiver: services.notifications, store: store, clients: clients.clients,
            window: window.flatMap { ReconcileConfiguration.window($0) } ?? settings.reconcile?.window
                ?? ReconcileConfiguration.standardWindow,
            progress: progress)
        let result = await Result {
            try await ProgressLine().showing({ Self.text(progress, clients) }, stop: { progress.stop() }) {
                let counts = try await reconciliation.runHoldingLease()
                guard counts?.row.isFinished == true else { return counts }
                // Those whose refunds were found, too. If a server looks them up, it goes on to.
                return try await reconciliation.lookUpWaiting() ?? counts
            }
        }
        await services.finishWriting()
        guard let counts = try result.get() else {
            throw InvalidOperation(
                "another process reconciles this store",
                hint: "if it was killed on another machine, try again after 15 seconds")
        }
        try report(counts)
    }

    /// Reads the refund histories, and prints the summary.
    private func readRefunds(_ run: RefundRun, _ clients: ServerAPISource, _ monitor: SweepMonitor) async throws {
        var checkpoint = try SweepCheckpoint(of: run.address, for: "store")
        let targets = try await RefundTargets(in: run.store.refunds, checkpoint)
        let apps = AppRegistry(settings: run.settings)
        let sweep = RefundSweep(
            clients: clients, store: run.store, source: .reconcile, limits: .init(), monitor: monitor,
            reportTargets: { apps.configured($0)?.reportTargetKeys ?? [] })
        var row = ReconciliationRow(startedAt: .now, window: 0)
        let progress = { @Sendable in RefundRun.progress(monitor.now, clients) }
        let stop = try await ProgressLine().showing(progress, stop: { monitor.stop() }) {
            try await sweep.run(targets, &checkpoint)
        }
        let found = monitor.now
        if stop == nil, found.failed == 0 { try checkpoint.finish() }
        (row.refunds, row.failed) = (Int64(found.unknown), Int64(found.failed))
        row.endedAt = stop == nil ? .now : nil
        var counts = ReconciliationCounts(row)
        counts.swept = Int64(found.swept)
        (counts.unknown, counts.withoutKey) = (Int64(found.notFound), Int64(found.withoutKey))
        _ = stop?.exit(isResumable: false)
        try report(counts)
    }

    /// Prints the summary, and what could not be checked.
    private func report(_ counts: ReconciliationCounts) throws {
        for gap in counts.gaps { Terminal.say("not asked: \(gap.sentence)") }
        let unnamed = counts.row.failed - Int64(counts.gaps.count { $0.subject != .app })
        if unnamed > 0 { Terminal.say("not asked: \(unnamed) more") }
        if json { Terminal.line(counts.json) } else { Terminal.line(counts.text) }
        guard counts.row.isFinished else {
            Terminal.say("stopped early; run the same command again to continue")
            throw ExitCode.limit
        }
        if !counts.isComplete { throw ExitCode.someNotVerified }
    }

    /// The progress so far.
    private static func text(_ progress: ReconciliationProgress, _ clients: ServerAPISource) -> ProgressText? {
        let counts = progress.now
        var parts: [ProgressText.Part] = [
            .init("\(counts.row.notifications.grouped) lost notifications", importance: 2),
            .init("\(counts.row.customers.grouped) customers looked up", importance: 5),
            .init("\(counts.row.different.grouped) differed", importance: 4),
            .init("\(counts.swept.grouped) refund histories", importance: 1),
            .init("\(clients.calls.grouped) calls", importance: 0),
        ]
        if counts.row.failed > 0 { parts.append(.init("\(counts.row.failed.grouped) failed", importance: 3)) }
        if let waiting = ProgressText.Part.waiting(clients.rateLimitWait, importance: 9) { parts.append(waiting) }
        return ProgressText(parts)
    }
}
