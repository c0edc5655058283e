package import StoredRows

/// Options of a comparison run.
package struct ComparisonRunOptions: Sendable {
    /// Path of the source, or `-` for standard input.
    package var source: String
    /// Path of the file for differences, one JSON line each. If `nil`, ``ComparisonRun``'s `write` receives them, and
    /// the run cannot be resumed.
    package var destination: String?
    /// Format options of the source.
    package var sourceOptions = SourceOptions()
    /// Start over, even if there is a checkpoint to resume from.
    package var isFresh = false
    /// Maximum number of rows to read in this run; `nil` for no limit.
    package var rowLimit: Int64?
    /// Time after which no new work starts; `nil` for no limit.
    package var timeLimit: Duration?
    /// Number of rows that are compared concurrently.
    package var workers: Int
    /// Time between checkpoints: the work that a crash can lose.
    package var checkpointInterval = Duration.seconds(1)
    /// Paths of the reports to write at the end.
    package var reports: [String] = []
    /// Maximum number of receipts whose documents the report shows side by side.
    package var shownPairs = 40

    /// Creates options with default values.
    package init(source: String, workers: Int) {
        self.source = source
        self.workers = workers
    }

    /// Path of the progress file, next to the destination; `nil` if there is no destination.
    package var progressPath: String? { destination.map { $0 + ".progress" } }
}
