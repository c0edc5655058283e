import Comparison
import Ledger
import StoredRows

/// Where a comparison stands, as its progress file keeps it.
struct ComparisonProgress: Sendable, Codable {
    /// What was found so far.
    struct Findings: Sendable, Codable {
        var rows: Int64 = 0
        /// Bytes of the destination.
        var bytes: Int64 = 0
        var tally = ComparisonSummary()
        var samples = PairSamples()
        /// Rows that another run may have better luck with, the first ones.
        var retries: [Retry] = []
        /// Those beyond.
        var forgottenRetries: Int64 = 0
    }

    /// A row that failed for a while.
    struct Retry: Sendable, Codable, Hashable {
        let row: Int64
        /// Of the batch that the row stands in; nil for the beginning of the source.
        let batch: SourcePosition?
        let code: String
        let scope: ComparisonReport.Scope
    }

    /// Rows to be tried again that are remembered.
    static let maximumRetries = 100_000

    var options: SourceOptions
    var identity: SourceIdentity
    /// Everything before it is among the findings.
    var position: SourcePosition?
    var findings = Findings()
    /// All rows were read.
    var isComplete = false
    /// The last one had no line break: were its rest written later, it would be counted twice.
    var hasCountedTail = false

    private static let key = "comparison"

    init(options: SourceOptions, identity: SourceIdentity) {
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
