import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeBatch
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeComparison
import ReceiptBridgeStorage

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

    /// Runs a worker.
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
