import Foundation
package import ReceiptBridgeStorage

/// Options of a worker of a shared migration, in addition to ``MigrationOptions``.
package struct SharedMigrationOptions: Sendable {
    /// The options that a migration into a file has too.
    package var migration: MigrationOptions
    /// The chunks that this worker reads.
    package var shard = ImportShard.whole
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

    /// What all workers must have in common. An offline migration can be continued with the Server API, because its
    /// customers are stored either way.
    func common(_ fingerprint: SourceIdentity) throws -> String {
        var options = migration.persisted
        options.withAPI = false
        return String(
            decoding: try JSONEncoder().encode(Common(options: options, fingerprint: fingerprint)), as: UTF8.self)
    }

    /// Checks that the import began with the same source and options.
    ///
    /// - Parameter progress: what ``common(_:)`` returned then.
    func check(_ progress: String, _ fingerprint: SourceIdentity, at place: String) throws(RunError) {
        guard let earlier = try? JSONDecoder().decode(Common.self, from: Data(progress.utf8)) else {
            throw .notPossible("the migration \(name) in the database \(place) is damaged")
        }
        if let difference = fingerprint.difference(from: earlier.fingerprint) {
            throw .anotherSource(migration.source, reason: difference)
        }
        var options = migration.persisted
        options.withAPI = false
        let differences = options.differences(from: earlier.options)
        guard differences.isEmpty else {
            throw .notPossible("\(differences.joined(separator: "; ")). Use --fresh to start over")
        }
    }

    private struct Common: Codable {
        let options: MigrationOptions.PersistedOptions
        let fingerprint: SourceIdentity
    }
}
