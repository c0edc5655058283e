/// Options of a worker of a shared migration, in addition to ``MigrationOptions``.
package struct SharedMigrationOptions: Sendable {
    /// A static part of the chunks.
    package struct Shard: Sendable, Hashable {
        /// From 0.
        package let index: Int64
        package let count: Int64

        /// Parses `I/N`, for example `1/4` to `4/4`. Returns `nil` for another text.
        package init?(_ text: String) {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int64($0) }
            guard parts.count == 2, let number = parts[0], let count = parts[1], (1...10_000).contains(count),
                (1...count).contains(number)
            else { return nil }
            self.init(index: number - 1, count: count)
        }

        private init(index: Int64, count: Int64) {
            self.index = index
            self.count = count
        }

        /// All chunks.
        package static let whole = Shard(index: 0, count: 1)
    }

    /// The options that a migration into a file has too.
    package var migration: MigrationOptions
    /// The chunks that this worker reads.
    package var shard = Shard.whole
    /// Size of the chunks, if this worker plans them.
    package var chunkSize = ChunkSize()
    /// Time after which another worker takes over the work of one that was killed. It is renewed three times within it.
    package var lease = Duration.seconds(15)
    /// Name of this worker, which no other one has.
    package var worker: String

    package init(_ migration: MigrationOptions, worker: String) {
        self.migration = migration
        self.worker = worker
    }

    /// Name of the migration: the last part of the path, because the path can differ from machine to machine.
    package var name: String { migration.source.split(separator: "/").last.map(String.init) ?? migration.source }
}
