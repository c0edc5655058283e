import ArgumentParser
import ReceiptBridgeBatch
import ReceiptBridgeStorage

/// Options of `migrate` for a destination in PostgreSQL, which several workers share.
struct SharedMigrationCommandOptions: ParsableArguments {
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

    func validate() throws {
        guard shard.map({ ImportShard($0) != nil }) ?? true else {
            throw ValidationError("--shard: expected I/N, for example 1/4")
        }
        guard leaseMilliseconds >= 300, chunkRows > 0, chunkBytes > 0 else {
            throw ValidationError("--lease-milliseconds, --chunk-rows, --chunk-bytes: the number is too small")
        }
    }

    /// Returns the options of a worker.
    func options(_ migration: MigrationOptions, worker: String) -> SharedMigrationOptions {
        var options = SharedMigrationOptions(migration, worker: worker)
        options.shard = shard.flatMap { ImportShard($0) } ?? .whole
        options.lease = .milliseconds(leaseMilliseconds)
        options.chunkSize = ChunkSize(rows: chunkRows, bytes: chunkBytes)
        return options
    }
}
