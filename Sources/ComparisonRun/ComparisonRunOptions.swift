package import StoredRows

/// What a comparison is told to do.
package struct ComparisonRunOptions: Sendable {
    /// A path, or `-`.
    package var source: String
    /// Where differences go, a line each; nil for ``ComparisonRun``'s `write`, and then a run begins at the beginning.
    package var destination: String?
    package var sourceOptions = SourceOptions()
    /// Begins anew, even where a run could go on.
    package var isFresh = false
    /// Rows to take from the source in this run; nil for all.
    package var rowLimit: Int64?
    /// How long to begin new work; nil without an end.
    package var timeLimit: Duration?
    /// Rows that are compared at the same time.
    package var workers: Int
    /// How much work a crash may cost.
    package var checkpointInterval = Duration.seconds(1)
    /// Files to write a report to at the end.
    package var reports: [String] = []
    /// Receipts whose two documents the report shows side by side.
    package var shownPairs = 40

    package init(source: String, workers: Int) {
        self.source = source
        self.workers = workers
    }

    /// Beside the destination.
    package var progressPath: String? { destination.map { $0 + ".progress" } }
}
