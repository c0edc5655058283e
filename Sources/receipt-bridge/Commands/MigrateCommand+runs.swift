import ArgumentParser
import ReceiptBridgeBatch
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeReceipts
import ReceiptBridgeComparison
import ReceiptBridgeCore
import ReceiptBridgeBase
import ReceiptBridgeStorage

extension TextFormat: ExpressibleByArgument {}

extension MigrateCommand {
    var isFilter: Bool { destination == "-" }

    func filter(trust: TrustStore) async throws {
        var rowOptions = rows.sourceOptions(transactionIdColumn: transactionIdColumn)
        rowOptions.format = inputFormat
        var options = MigrationFilter.Options(
            source: source, rows: rowOptions, workers: rows.workers ?? ProcessInfo.processInfo.activeProcessorCount)
        options.output = outputFormat ?? .jsonLines
        // A closed pipe is an error of writing, with an exit code, instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        let filter = MigrationFilter(options, reader: ReceiptReader(trust: trust))
        let signals = await StopSignals.watching { filter.stop() }
        defer { signals.cancel() }
        let result: MigrationFilter.Result
        do throws(RunError) { result = try await filter.run() } catch {
            Terminal.say("\(error)")
            throw error.exit
        }
        switch result.ending {
        case .finished: Terminal.inform(summary(of: result))
        case .stopped:
            Terminal.say("stopped by a signal before the end of the input; \(summary(of: result))")
            throw ExitCode.limit
        case .outputClosed: throw ExitCode.limit
        }
    }

    /// Returns the numbers of rows. For example, `1,282 rows: decoded 1,200, refused 82`.
    private func summary(of result: MigrationFilter.Result) -> String {
        let outcomes = MigrationOutcome.allCases.compactMap { outcome in
            result.outcomes[outcome].map { "\(outcome.rawValue) \($0.grouped)" }
        }
        return "\(result.rows.grouped) rows" + (outcomes.isEmpty ? "" : ": ") + outcomes.joined(separator: ", ")
    }
}

/// The configured store, in which looked-up customers are saved, so that servers answer them without a call.
extension MigrateCommand {
    /// Runs `body` with the configured store; with `nil` if there is none, or if nothing is to be saved.
    ///
    /// - Parameter limits: The store with the shared rate limits, if it is open.
    func withFilledStore(
        _ settings: ProxyConfiguration, _ limits: (any Store)?, _ body: ((any Store)?) async throws -> Void
    ) async throws {
        guard let address = settings.store, !noStore, !plan else { return try await body(nil) }
        if case .postgresql = address, let limits { return try await body(limits) }
        let store: any Store
        do throws(StorageError) {
            store = try await StoreOpening.open(address, settings.database, recordsEvents: settings.recordsEvents)
        } catch {
            Terminal.say("\(error)", hint: "--no-store does not save customers in the store", as: .bad)
            throw ExitCode.usage
        }
        let result = await Result { try await body(store) }
        await store.close()
        try result.get()
    }

    func reportStored(in store: any Store, _ settings: ProxyConfiguration) async {
        do throws(StorageError) {
            let customers = try await store.customers.countOfCompleteCustomers()
            let answersFromStore = settings.apps.contains { $0.answer.contains(.stored) }
            Terminal.inform(
                "\(customers.grouped) customers are in the store, which a server answers without Apple",
                hint: answersFromStore ? nil : "answer: [stored, …] in the configuration uses them")
        } catch {
            Terminal.say("\(error)", as: .warning)
        }
    }
}

/// `migrate SOURCE --to postgresql://…`: one worker of any number.
extension MigrateCommand {
    /// Whether the destination is a database that several workers share.
    var isShared: Bool { ["postgresql://", "postgres://"].contains { destination.hasPrefix($0) } }

    /// Checks the options of a worker.
    func validateSharing() throws {
        guard shard.map({ ImportShard($0) != nil }) ?? true else {
            throw ValidationError("--shard: expected I/N, for example 1/4")
        }
        guard leaseMilliseconds >= 300, chunkRows > 0, chunkBytes > 0 else {
            throw ValidationError("--lease-milliseconds, --chunk-rows, --chunk-bytes: the number is too small")
        }
    }

    /// Adds the options of a worker.
    func addSharing(to options: inout MigrationOptions) {
        options.workers = min(options.workers, 64)
        options.worker = "\(ProcessInfo.processInfo.hostName) \(getpid()) \(UInt32.random(in: 0...UInt32.max))"
        options.shard = shard.flatMap { ImportShard($0) } ?? .whole
        options.lease = .milliseconds(leaseMilliseconds)
        options.chunkSize = ChunkSize(rows: chunkRows, bytes: chunkBytes)
    }

    /// The address of the destination. The password comes from elsewhere.
    private func databaseAddress() throws(ConfigurationError) -> PostgreSQLAddress {
        do throws(StoreAddressError) {
            if case .postgresql(let address) = try StoreAddress.parse(destination, resolve: { $0 }) { return address }
        } catch {
            throw ConfigurationError(["--to: \(error.reason)"])
        }
        throw ConfigurationError(["--to: expected postgresql://USER@HOST/DATABASE"])
    }

    /// Opens the store with the rate limits that servers and workers share: that of the configuration if it is in a
    /// PostgreSQL database, otherwise one in the destination, so that a worker that takes over does not start with a
    /// full budget.
    func sharedStore(_ settings: ProxyConfiguration) async throws(ConfigurationError) -> (any Store)? {
        guard isShared else { return await SharedStore.open(settings) }
        var settings = settings
        if case .postgresql = settings.store {} else { settings.store = .postgresql(try databaseAddress()) }
        return await SharedStore.open(settings)
    }

    func runShared(
        _ context: MigrationContext, _ settings: ProxyConfiguration, workers: Int, _ display: MigrationDisplay
    ) async throws(RunError) -> MigrationResult {
        let address: PostgreSQLAddress
        do throws(ConfigurationError) { address = try databaseAddress() } catch {
            throw .notPossible(error.findings.joined(separator: "; "))
        }
        let migration = try SharedMigration(context)
        var database = settings.database
        database.connections = Int64(workers + 4)
        database.statementTimeout = max(database.statementTimeout, .seconds(60))
        let store: any Store
        do throws(StorageError) {
            store = try await StoreOpening.open(.postgresql(address), database, recordsEvents: false)
        } catch {
            throw RunError(database: error)
        }
        let result = await Result { () async throws(RunError) in
            try await display.showing { () async throws(RunError) in try await migration.run(in: store.imports) }
        }
        await store.close()
        return try result.get()
    }
}
