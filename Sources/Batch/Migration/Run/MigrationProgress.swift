import Foundation
import ReceiptBridgeStorage

/// The checkpoint of a migration, which is stored with its import.
struct MigrationProgress: Sendable, Codable {
    /// A position in the source. All rows before it are in the result, or stored.
    struct Checkpoint: Sendable, Codable {
        /// Position in the source; `nil` before the first row.
        var source: SourcePosition?
        /// Position in the result, if it is written while rows are read.
        var sink: SinkPosition = .start
        var counts = MigrationCounts()
    }

    var options: MigrationOptions.PersistedOptions
    /// Identity of the source at the last run.
    var identity: SourceIdentity
    var checkpoint = Checkpoint()
    /// Counts after all rows have been read; `nil` before. They include a last line without a line break, which the
    /// counts of the checkpoint do not.
    var whole: MigrationCounts?
    /// `true` if everything is done and there are no temporary failures.
    var isFinished = false
    /// Position at the end of the finished result.
    var result: SinkPosition?
    /// `true` while known customers are looked up again.
    var isRefreshing = false
    var history = MigrationHistory()

    init(options: MigrationOptions.PersistedOptions, identity: SourceIdentity) {
        (self.options, self.identity) = (options, identity)
    }

    /// Decodes the JSON that is stored.
    init(_ json: String) throws { self = try StoredJSON.decode(Self.self, from: Array(json.utf8)) }

    /// The JSON that is stored.
    var json: String { get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) } }
}
