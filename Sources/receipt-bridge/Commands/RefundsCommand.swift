import Administration
import ArgumentParser
import Base
import BridgeConfiguration
import Foundation
import Operations
import Reports
import Storage
import Transport
import VerifyReceipt

/// The `refunds` command: finds refunds.
struct RefundsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refunds", abstract: "Finds refunds.", subcommands: [Sweep.self])

    struct Sweep: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sweep",
            abstract: "Looks up the refunds of every customer in the store, and prints new refunds.",
            discussion: """
                Prints each refund as a line of JSON, on standard output or appended to --to FILE, and only once: a later \
                sweep prints only refunds that are new since then. Refunds are stored as soon as they are found. A sweep that \
                was stopped resumes; a sweep that finished starts over and looks up only changes.

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

        /// Apple's rate limit of this endpoint.
        private static let requestsPerSecond = 10.0 * Double(TestSpeed.divisor)

        func run() async throws {
            try await configuration.withResources(storeFor: "refunds sweep") {
                try await run($0, $1, $2, at: $3)
            }
        }

        /// Runs the sweep, unless another one runs on the same store.
        private func run(
            _ settings: ProxyConfiguration, _ curl: CurlTransport, _ store: any Store, at address: StoreAddress
        ) async throws {
            let monitor = RunMonitor(SweepCounts())
            let limited = RateLimitedTransport(curl, perSecond: Self.requestsPerSecond * budget.value)
            let result = try await settings.withClients(over: limited, share: budget.value, store: store) { clients in
                try await TaskLease.whileHolding(.refunds, in: store.leases) { isHeld in
                    // If the lease is lost, another sweep has taken over.
                    let watch = Task {
                        while (try? await Task.sleep(for: .seconds(5))) != nil {
                            if await !isHeld() { monitor.stop() }
                        }
                    }
                    defer { watch.cancel() }
                    return await Result { try await run(settings, clients, store, monitor, at: address) }
                }
            }
            guard let result else {
                throw InvalidOperation(
                    "another sweep is using this store",
                    hint: "if it was killed on another machine, try again after 15 seconds")
            }
            try result.get()
        }

        /// Runs or resumes the sweep and prints its summary. A sweep with failed lookups stays unfinished, so that
        /// the next run retries them.
        private func run(
            _ settings: ProxyConfiguration, _ clients: UpstreamClients, _ all: any Store,
            _ monitor: SweepMonitor, at address: StoreAddress
        ) async throws {
            guard clients.isConfigured else { throw InvalidOperation.serverAPIIsMissing }
            if let bundleId { _ = try AppRegistry(settings: settings).selected(bundleId, needsKey: true) }
            let store = all.refunds
            let checkpoint = try SweepCheckpoint(of: address)
            let name = ids.map { "ids \(URL(filePath: $0).standardizedFileURL.path)" } ?? "store"
            let begin = try checkpoint.begin(name, at: .now)
            let targets = try await targets(AppResolver(settings, clients, store: all), store, since: begin)
            let path = destination.map { URL(filePath: $0).standardizedFileURL.path }
            var output = try await output(at: path, store)
            let sweep = RefundSweep(
                clients: clients, store: store,
                limits: .init(items: limit?.value, time: maxHours?.duration), monitor: monitor,
                since: since?.timestamp)
            let progress = { @Sendable in Self.progress(monitor.now, clients) }
            let stop = try await ProgressLine().showing(progress, stop: { monitor.stop() }) {
                try await sweep.run(targets, to: &output, at: path)
            }
            if let path { try await store.endRefundOutput(path) }
            Terminal.inform(Self.text(monitor.now, clients.calls))
            if let stop {
                Terminal.say("stopped: \(stop.sentence); run the same command again to resume", as: .warning)
                throw ExitCode.limit
            }
            let counts = monitor.now
            guard counts.failed == 0 else {
                Terminal.say("run the same command again to retry the customers that failed")
                throw ExitCode.someNotVerified
            }
            try checkpoint.finish(name)
            if counts.notFound + counts.withoutKey > 0 { throw ExitCode.someNotVerified }
        }

        /// Returns the customers that this sweep has not looked up yet: those of `--ids`, or all in the store.
        private func targets(
            _ resolver: AppResolver, _ store: any RefundStore, since begin: Timestamp
        ) async throws -> RefundTargets {
            guard let ids else { return try await RefundTargets(in: store, notSweptSince: begin) }
            let bytes = try ListOptions.bytes(of: ids)
            guard bytes.count < ReceiptInputs.maximumSize else {
                throw InvalidOperation("--ids: \(ids) has 64 MiB or more", hint: "split it, or keep only the ids")
            }
            let list = try await resolver.list(bytes, named: bundleId, in: environment.environment)
            if list.skipped > 0 { Terminal.say("\(list.skipped) lines have no id") }
            var targets: [RefundTarget] = []
            for entry in list.entries {
                let target = try await store.refundTarget(entry.identifier, in: entry.scope, notSweptSince: begin)
                if let target { targets.append(target) }
            }
            return RefundTargets(targets)
        }

        /// Opens the destination. A file that an earlier run wrote is truncated to the refunds that were marked as
        /// reported; another file that is not empty is an error.
        private func output(at path: String?, _ store: any RefundStore) async throws -> LineOutput {
            var size: Int64?
            if let path, FileManager.default.fileExists(atPath: path) {
                size = try await store.sizeOfRefundOutput(path)
            }
            let output = try LineOutput(path: path, cutAt: size) { Terminal.result($0) }
            if let path, size == nil { try await store.beginRefundOutput(path) }
            return output
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

        /// The progress so far.
        private static func progress(_ counts: SweepCounts, _ clients: UpstreamClients) -> ProgressText {
            let customers = "\(Int64(counts.swept).grouped) of \(Int64(counts.customers).grouped) customers"
            var parts: [ProgressText.Part] = [
                .init(customers, importance: 5), .init("\(clients.calls.grouped) calls", importance: 0),
                .init("\(Int64(counts.reported).grouped) new refunds", importance: 4, after: ": "),
            ]
            if counts.failed > 0 { parts.append(.init("\(Int64(counts.failed).grouped) failed", importance: 3)) }
            if let waiting = ProgressText.Part.waiting(clients.rateLimitWait, importance: 9) { parts.append(waiting) }
            let fraction = counts.customers > 0 ? Double(counts.swept) / Double(counts.customers) : nil
            return ProgressText(parts, fraction: fraction, items: Int64(counts.swept))
        }
    }
}
