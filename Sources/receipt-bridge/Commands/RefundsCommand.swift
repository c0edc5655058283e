import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import ReceiptBridgeTransport

/// The `refunds` command: finds refunds.
struct RefundsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refunds", abstract: "Finds refunds.", subcommands: [Sweep.self])

    struct Sweep: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sweep",
            abstract: "Looks up the refunds of every customer in the store, and prints new refunds.",
            discussion: """
                Does what `reconcile --refunds-only` and `export events --type refund --follow-from STORE.sweep` do. Prints each \
                refund as a line of JSON, on standard output or appended to --to FILE, and only once: a later sweep prints only \
                refunds that are new since then. Refunds are stored as soon as they are found. A sweep that was stopped resumes; \
                a sweep that finished starts over. Needs `events` in the configuration, which is on unless turned off.

                Exit codes: 0 success; 1 done, but some customers are unknown to the App Store, belong to apps without a key, \
                or could not be looked up; 2 usage, configuration; 3 stopped by a limit or a temporary failure.

                Example:
                  receipt-bridge refunds sweep --to refunds.jsonl --config receipt-bridge.yaml
                """)

        @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
        @OptionGroup var output: JSONOption
        @OptionGroup var quiet: QuietOption
        @Option(
            name: [.customLong("to"), .customShort("o")],
            help: ArgumentHelp("Append refunds to this JSONL file.", valueName: "file.jsonl"),
            completion: .file())
        var destination: String?
        @Option(
            help: ArgumentHelp(
                "Only the customers in this file: one transaction id or JSON object per line.", valueName: "file"),
            completion: .file())
        var ids: String?
        @Option(
            help: ArgumentHelp(
                "With --ids: the app of lines without one; optional if one is configured, or if only one knows the id.",
                valueName: "bundle-id"))
        var bundleId: String?
        @Option(help: "With --ids: the environment of lines without one.")
        var environment = EnvironmentName.production
        @Option(
            help: ArgumentHelp(
                "Print only refunds since this instant, for example 2026-11-21 or 2026-11-21T12:00:00Z.",
                valueName: "instant"
            ))
        var since: Instant?
        @Option(
            help: ArgumentHelp(
                "Share of Apple's rate limits to use, 0.01 to 1; a running server uses the same limits.",
                valueName: "share"))
        var budget = Share(value: 0.5)
        @Option(help: ArgumentHelp("Look up at most this many customers in this run.", valueName: "customers"))
        var limit: RowCount?
        @Option(help: ArgumentHelp("Stop starting new work after this many hours.", valueName: "hours"))
        var maxHours: Hours?

        mutating func validate() throws {
            if destination == "-" { destination = nil }
            try budget.check("--budget")
            try limit?.check("--limit")
            try maxHours?.check("--max-hours")
            try since?.check("--since")
            guard bundleId == nil || ids != nil else { throw ValidationError("--bundle-id needs --ids") }
        }

        func run() async throws {
            try await configuration.withResources(storeFor: "refunds sweep") { settings, curl, store, address in
                guard settings.recordsEvents else {
                    throw InvalidOperation(
                        "refunds sweep remembers refunds in the events, and the configuration has events: false",
                        hint: "set events: true, or use reconcile --refunds-only, which prints no refunds")
                }
                let run = RefundRun(settings: settings, store: store, address: address, share: budget.value)
                try await run.whileHoldingLease(over: curl) { clients, monitor in
                    try await sweep(run, clients, store, monitor)
                }
            }
        }

        /// Runs or resumes the sweep and prints its summary. A sweep with failed lookups stays unfinished, so that
        /// the next run retries them.
        private func sweep(
            _ run: RefundRun, _ clients: ServerAPISource, _ store: any Store, _ monitor: SweepMonitor
        ) async throws {
            if let bundleId { _ = try AppRegistry(settings: run.settings).selected(bundleId, needsKey: true) }
            let (targets, opened) = try await self.targets(run, clients, store)
            var checkpoint = opened
            let path = destination.map { URL(filePath: $0).standardizedFileURL.path }
            var cursor = try EventCursor(in: checkpoint.ledger)
            var output = try cursor.open(path) { Terminal.result($0) }
            let sweep = RefundSweep(
                clients: clients, store: store,
                limits: .init(items: limit.map { Int64($0.value) }, time: maxHours?.duration), monitor: monitor)
            func report() async throws {
                let printed = try await RefundSweep.print(
                    from: store, since: since?.timestamp, after: &cursor, to: &output, at: path)
                monitor.change { $0.reported += printed }
            }
            let progress = { @Sendable in RefundRun.progress(monitor.now, clients) }
            let stop = try await ProgressLine().showing(progress, stop: { monitor.stop() }) {
                try await report()
                return try await sweep.run(targets, &checkpoint, found: report)
            }
            try cursor.close(path)
            Terminal.inform(Self.text(monitor.now, clients.calls))
            if let stop { throw stop.exit() }
            let counts = monitor.now
            guard counts.failed == 0 else {
                Terminal.say("run the same command again to retry the customers that failed")
                throw ExitCode.someNotVerified
            }
            try checkpoint.finish()
            if counts.notFound + counts.withoutKey > 0 { throw ExitCode.someNotVerified }
        }

        /// Returns the customers that this sweep has not looked up yet: those of `--ids`, or all in the store.
        private func targets(
            _ run: RefundRun, _ clients: ServerAPISource, _ store: any Store
        ) async throws -> (RefundTargets, SweepCheckpoint) {
            guard let ids else {
                let checkpoint = try SweepCheckpoint(of: run.address, for: "store")
                return (try await RefundTargets(in: store.refunds, checkpoint), checkpoint)
            }
            let bytes = try ListOptions.bytes(of: ids)
            guard bytes.count < ReceiptInputs.maximumSize else {
                throw InvalidOperation("--ids: \(ids) has 64 MiB or more", hint: "split it, or keep only the ids")
            }
            let checkpoint = try SweepCheckpoint(
                of: run.address, for: "ids \(URL(filePath: ids).standardizedFileURL.path)",
                list: "\(SHA.hex(bytes, with: .sha256)) \(bundleId ?? "") \(environment.rawValue)")
            if checkpoint.beginsAgain {
                Terminal.say("\(ids) is another list than that of the unfinished sweep, so this one begins again")
            }
            let list = try await AppResolver(run.settings, clients, store: store).list(
                bytes, named: bundleId, in: environment.environment)
            return (RefundTargets(list.entries, checkpoint), checkpoint)
        }

        /// Returns the summary of a run. For example, `20 of 20 customers, 20 calls: 3 new refunds`.
        private static func text(_ counts: SweepCounts, _ calls: Int64) -> String {
            var text =
                "\(counts.swept) of \(counts.customers) customers, \(calls) calls: \(counts.reported) new refunds"
            for (count, words) in [
                (counts.notFound, "unknown to the App Store"), (counts.failed, "failed"),
                (counts.withoutKey, "belong to apps without a key"),
            ] where count > 0 { text += ", \(count) \(words)" }
            return text
        }
    }
}

/// A run over refund histories, of `refunds sweep` and of `reconcile --refunds-only`.
struct RefundRun {
    let settings: ProxyConfiguration
    let store: any Store
    let address: StoreAddress
    /// The part of Apple's limits to use.
    let share: Double

    /// Runs `body`, unless another run uses the same store. The run is stopped if its lease is lost.
    func whileHoldingLease(
        over curl: CurlTransport, _ body: (ServerAPISource, SweepMonitor) async throws -> Void
    ) async throws {
        let monitor = RunMonitor(SweepCounts())
        // Apple's rate limit of this endpoint.
        let limited = RateLimitedTransport(curl, perSecond: 10 * share * Double(TestSpeed.divisor))
        let result = try await settings.withClients(over: limited, share: share, store: store) { clients in
            guard clients.isConfigured else { throw InvalidOperation.serverAPIIsMissing }
            return try await TaskLease.whileHolding(.refunds, in: store.leases) { isHeld in
                // If the lease is lost, another sweep has taken over.
                let watch = Task {
                    while (try? await Task.sleep(for: .seconds(5))) != nil {
                        if await !isHeld() { monitor.stop() }
                    }
                }
                defer { watch.cancel() }
                return await Result { try await body(clients, monitor) }
            }
        }
        guard let result else {
            throw InvalidOperation(
                "another sweep is using this store",
                hint: "if it was killed on another machine, try again after 15 seconds")
        }
        try result.get()
    }

    /// The progress so far.
    static func progress(_ counts: SweepCounts, _ clients: ServerAPISource) -> ProgressText {
        let customers = "\(Int64(counts.swept).grouped) of \(Int64(counts.customers).grouped) customers"
        var parts: [ProgressText.Part] = [
            .init(customers, importance: 5), .init("\(clients.calls.grouped) calls", importance: 0),
            .init("\(Int64(max(counts.reported, counts.unknown)).grouped) new refunds", importance: 4, after: ": "),
        ]
        if counts.failed > 0 { parts.append(.init("\(Int64(counts.failed).grouped) failed", importance: 3)) }
        if let waiting = ProgressText.Part.waiting(clients.rateLimitWait, importance: 9) { parts.append(waiting) }
        let fraction = counts.customers > 0 ? Double(counts.swept) / Double(counts.customers) : nil
        return ProgressText(parts, fraction: fraction, items: Int64(counts.swept))
    }
}
