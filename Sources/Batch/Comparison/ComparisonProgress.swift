import ReceiptBridgeComparison

/// The checkpoint of a comparison, which is stored in its progress file.
struct ComparisonProgress: Sendable, RunCheckpoint {
    struct Findings: Sendable, Codable {
        /// Number of processed rows, including failed ones.
        var rows: Int64 = 0
        /// Size of the destination file in bytes.
        var bytes: Int64 = 0
        var tally = ComparisonSummary()
        var samples = PairSamples()
        /// Rows to retry in a later run, at most ``maximumRetries``.
        var retries: [Retry] = []
        /// Number of rows to retry that are beyond the limit and therefore not retried.
        var forgottenRetries: Int64 = 0
    }

    /// A row with a temporary failure.
    struct Retry: Sendable, Codable, Hashable {
        /// Number of the row, from 1.
        let row: Int64
        /// Position of the batch that contains the row; `nil` for the beginning of the source.
        let batch: SourcePosition?
        /// Code of the failure, which is removed from the counts when the row is retried.
        let code: String
        /// Scope that the failure is counted under.
        let scope: ComparisonReport.Scope
    }

    static let maximumRetries = 100_000

    /// Options of the first run. Later runs must have the same.
    var options: SourceOptions
    /// Identity of the source at the last run.
    var identity: SourceIdentity
    /// Position after the last processed row; `nil` for the beginning of the source.
    var position: SourcePosition?
    var findings = Findings()
    var isComplete = false
    /// `true` if the last row had no line break. If the source grows afterwards, that row would be counted twice.
    var hasCountedTail = false

    static let key = "comparison"
}
