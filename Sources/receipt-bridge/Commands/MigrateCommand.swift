import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeBatch
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeStorage

/// The `migrate` command: reads stored receipts, and writes original transaction ids and the Server API's records.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Converts stored receipts to original transaction ids and App Store Server API records.",
        discussion: """
            SOURCE is JSONL, CSV (both also in .gz), a SQLite database, a directory of files, or - for JSONL on standard input. \
            DEST is .jsonl, .csv, .sqlite or .db. Every row of the source gives exactly one row of the result. Running the \
            same command again resumes the migration, however it was stopped; its progress is stored in DEST.progress.

            With --to -, the command is a filter: lines of JSONL or CSV in, a line for each on standard output, in the same \
            order. It makes no calls, stores no progress, and exits with 0 even if rows were refused.

            If DEST is postgresql://USER@HOST/DATABASE, the same command on several machines shares the work. The password \
            comes from database.password of --config, or from RECEIPT_BRIDGE_DATABASE_PASSWORD_FILE.

            Exit codes: 0 success; 1 done, but rows were refused, not found or failed, or their app has no key; 2 usage, \
            configuration, or a source that is not the one this migration started with; 3 stopped by a limit or a temporary \
            failure.

            Example:
              receipt-bridge migrate receipts.csv -o result.jsonl \\
                  --with-api --config receipt-bridge.yaml
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup(title: "Source and run") var rows: BatchOptions
    @OptionGroup var quiet: QuietOption
    @Argument(help: ArgumentHelp("The stored receipts.", valueName: "source"), completion: .file())
    var source: String

    @Option(
        name: [.customLong("to"), .customShort("o")],
        help: ArgumentHelp("The result file, or - for a filter.", valueName: "dest"),
        completion: .file())
    var destination: String

    @Option(help: "Format of a text (default: that of its first line; on standard input jsonl).")
    var inputFormat: TextFormat?

    @Option(help: "Format of a result on standard output, or whose name does not state it (default: jsonl).")
    var outputFormat: TextFormat?

    @Flag(
        help: """
            Look up each customer once with the App Store Server API (default if --config or RECEIPT_BRIDGE_CONFIG names a \
            configuration with a key, not if ./receipt-bridge.yaml has one).
            """)
    var withApi = false

    @Flag(help: "Only decode, without any calls (default in all other cases).")
    var offline = false

    @Flag(
        help: """
            Decodes the receipts and prints how many customers and calls --with-api would have. Makes no calls and writes no \
            results. The keys are read from the configuration.
            """)
    var plan = false

    @Flag(
        help: "Do not save looked-up customers in the configured store, from which servers answer without a call.")
    var noStore = false

    @Flag(help: "Look up customers again that were found before, only for changes.")
    var refresh = false

    @Flag(help: "Look up the customers whose subscriptions expire last first, active subscribers before all others.")
    var activeFirst = false

    @Flag(
        help: """
            Also look up receipts that are not authentic, and rows of transaction ids without a receipt; `verified` is false \
            in their rows.
            """)
    var allowUnverified = false

    @Option(
        help: ArgumentHelp(
            "A column or key with transaction ids, which --allow-unverified looks up if a row has no receipt.",
            valueName: "column"))
    var transactionIdColumn: String?

    @Option(
        help: ArgumentHelp(
            "The app of rows of transaction ids; optional if exactly one has a key.", valueName: "bundle-id"))
    var bundleId: String?

    @Option(
        help: ArgumentHelp(
            "A column or key with your users' UUIDs, which become the account tokens of their purchases.",
            valueName: "column"))
    var accountTokenColumn: String?

    @Flag(help: "Set the account tokens; without this flag the run only prints what it would set.")
    var setAccountTokens = false

    @Option(
        help: ArgumentHelp("Write a report; the name ends in .html or .json.", valueName: "file"), completion: .file())
    var report: [String] = []

    @Option(
        help: ArgumentHelp(
            "Also write a row for each transaction of the customers; the name ends in .csv or .jsonl.",
            valueName: "file"), completion: .file())
    var transactions: String?

    @Option(
        help: ArgumentHelp(
            "Also write a row for each subscription of the customers; the name ends in .csv or .jsonl.",
            valueName: "file"), completion: .file())
    var subscriptions: String?

    @Option(
        help: ArgumentHelp(
            "Read only part I of N of the source; with a postgresql:// destination.", valueName: "i/n"))
    var shard: String?

    @Option(help: .hidden)
    var leaseMilliseconds: Int64 = 15_000

    @Option(help: .hidden)
    var chunkRows: Int64 = 2_000

    @Option(help: .hidden)
    var chunkBytes: Int64 = 8 << 20

    @Flag(help: "Print the summary, or with --plan the plan, as JSON on standard output: the report without its rows.")
    var json = false

    func validate() throws {
        guard !(withApi && offline) else { throw ValidationError("--with-api and --offline cannot be combined") }
        try validateNeeds()
        try validateSharing()
        for path in report where !path.hasSuffix(".html") && !path.hasSuffix(".json") {
            throw ValidationError("--report: the name must end in .html or .json")
        }
    }

    func run() async throws {
        let (settings, trust) = try ConfigurationOptions.reporting {
            let settings = try configuration.settingsWithRoots(searches: withApi || plan || isShared)
            return (settings, try TrustStore(settings: settings))
        }
        if isFilter { return try await filter(trust: trust) }
        guard asksAPI(settings) else {
            if let sentence = sentence(without: .lookups) {
                Terminal.say(sentence)
                throw ExitCode.usage
            }
            return try await run(settings, trust: trust, directory: nil, app: nil, store: nil)
        }
        var limits: (any Store)?
        try await settings.withBatchClient(
            trust: trust, share: rows.budget.value,
            store: {
                limits = plan ? nil : try await sharedStore(settings)
                return limits
            }
        ) { lookups, _ in
            guard lookups.isConfigured else {
                Terminal.say(
                    "--with-api needs an app with serverAPI in the configuration",
                    hint: "specify the configuration with --config or RECEIPT_BRIDGE_CONFIG")
                throw ExitCode.usage
            }
            let app: String?
            do throws(InvalidOperation) { app = try settings.keyedApp(bundleId) } catch {
                throw OperationFailure.exit(for: error)
            }
            try await withFilledStore(settings, limits) { store in
                let directory = AppStoreCustomerLookup(
                    lookups: lookups, renderer: CustomerViewRenderer(tables: settings.tables), store: store)
                try await run(settings, trust: trust, directory: directory, app: app, store: store)
            }
        }
    }

    /// Without an option, the API is used if a configuration is named that has a key for it.
    private func asksAPI(_ settings: ProxyConfiguration) -> Bool {
        if withApi || offline { return withApi }
        return (configuration.isNamed || plan) && settings.apps.contains { $0.serverAPI != nil }
    }

    private func options(_ settings: ProxyConfiguration, withAPI: Bool, app: String?) -> MigrationOptions {
        var options = MigrationOptions(
            source: source, destination: destination,
            workers: rows.workers ?? ProcessInfo.processInfo.activeProcessorCount)
        options.persisted.source = rows.sourceOptions(
            accountTokenColumn: accountTokenColumn, transactionIdColumn: transactionIdColumn)
        options.persisted.source.format = inputFormat
        options.persisted.resultFormat = outputFormat
        options.persisted.withAPI = withAPI
        options.persisted.allowUnverified = allowUnverified
        options.persisted.app = allowUnverified ? app : nil
        options.persisted.trust = settings.trustDigest
        options.isFresh = rows.fresh
        options.isPlan = plan
        options.isRefresh = refresh
        options.isActiveFirst = activeFirst
        options.limits = RunLimits(items: rows.rowLimit, time: rows.timeLimit)
        options.setsAccountTokens = setAccountTokens
        options.checkpointInterval = rows.checkpointInterval
        options.reports = report
        options.tables[.transactions] = transactions
        options.tables[.subscriptions] = subscriptions
        if isShared { addSharing(to: &options) }
        return options
    }

    /// Runs the migration and prints its summary.
    ///
    /// - Parameters:
    ///   - directory: Looks up customers; `nil` for decoding only.
    ///   - app: The app of rows of transaction ids; `nil` if none has a key, or several have one.
    ///   - store: The store in which looked-up customers are saved.
    private func run(
        _ settings: ProxyConfiguration, trust: TrustStore, directory: AppStoreCustomerLookup?, app: String?,
        store: (any Store)?
    ) async throws {
        let monitor = RunMonitor(MigrationStatus())
        let display = MigrationDisplay(monitor: monitor) { directory?.rateLimitWait }
        let options = self.options(settings, withAPI: directory != nil, app: app)
        let context = MigrationContext(
            options, reader: ReceiptReader(trust: trust), lookups: directory, monitor: monitor,
            notify: { display.say($0) })
        let runResult: MigrationResult
        do throws(RunError) {
            if isShared {
                runResult = try await runShared(context, settings, workers: options.workers, display)
            } else {
                let migration = try await Migration(context)
                runResult = try await display.showing { () async throws(RunError) in try await migration.run() }
            }
        } catch {
            Terminal.say("\(error)", as: .bad)
            throw error.exit
        }
        if json { Terminal.line(MigrationReport(options: options, ending: runResult).json) }
        if let directory, runResult.stop == .planned {
            if !json {
                Terminal.line(
                    MigrationTable.plan(runResult, callsPerHour: directory.callsPerHour, share: rows.budget.value))
            }
            return try reportRowsWithoutKey(runResult, settings)
        }
        if !json { display.table(MigrationTable.text(runResult)) }
        if let store { await reportStored(in: store, settings) }
        switch runResult.stop {
        case nil:
            let (places, hint) = MigrationTable.closing(runResult, options, isShared: isShared)
            Terminal.inform(places, hint: hint)
            try reportRowsWithoutKey(runResult, settings)
            if runResult.hasFailures { throw ExitCode.someNotVerified }
        case let stop?:
            Terminal.say("stopped: \(stop.sentence); run the same command again to resume", as: .warning)
            throw ExitCode.limit
        }
    }

    /// Says which rows cannot be looked up, because their app has no key in the configuration.
    private func reportRowsWithoutKey(_ result: MigrationResult, _ settings: ProxyConfiguration) throws {
        let sentences = AppRegistry(settings: settings).rowsWithoutKey(result.counts.withoutKey ?? [:])
        for sentence in sentences {
            Terminal.say(sentence, hint: "--fresh starts over with another configuration", as: .warning)
        }
        if !sentences.isEmpty { throw ExitCode.someNotVerified }
    }
}
