import Ledger
import StoredRows

/// Where a migration stands, as its ledger keeps it.
struct MigrationProgress: Sendable, Codable {
    /// Everything before it is in the result, or staged.
    struct Checkpoint: Sendable, Codable {
        /// Nil before the first row.
        var source: SourcePosition?
        /// Of a result that is written while rows are read.
        var sink: SinkPosition = .start
        var counts = MigrationCounts()
    }

    var options: MigrationOptions.PersistedOptions
    var identity: SourceIdentity
    var checkpoint = Checkpoint()
    /// The counts with everything in them, once all rows were read; the last line of a file that lacks its line break is
    /// in these and not in those of the checkpoint.
    var whole: MigrationCounts?
    /// Everything is done, and nothing failed for a while only.
    var isFinished = false
    /// How much was in the result then.
    var result: SinkPosition?
    /// Everybody is being asked about again, and the end of that is not reached.
    var isRefreshing = false
    var history = MigrationHistory()

    private static let key = "progress"

    init(options: MigrationOptions.PersistedOptions, identity: SourceIdentity) {
        self.options = options
        self.identity = identity
    }

    /// Whether a run ever began to write; false in the ledger of one that could not begin.
    static func isKept(in ledger: MigrationStore) throws(StorageError) -> Bool { try ledger.state(key) != nil }

    /// Nil where the ledger is new.
    init?(in ledger: MigrationStore) throws {
        guard let kept = try ledger.state(Self.key, as: Self.self) else { return nil }
        self = kept
    }

    func save(in ledger: MigrationStore) throws {
        try ledger.save(encoding: self, as: Self.key)
        try ledger.commit()
    }
}
