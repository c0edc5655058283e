package import ReceiptBridgeBase
package import ReceiptBridgeComparison

package typealias ComparisonMonitor = RunMonitor<ComparisonStatus>

/// Progress of a running comparison.
package struct ComparisonStatus: Sendable {
    /// Number of processed rows, including those of earlier runs.
    package var rows: Int64 = 0
    /// Number of compared rows.
    package var compared: Int64 = 0
    /// Number of compared rows with an unexpected difference.
    package var unexpected: Int64 = 0
    /// Number of rows that could not be compared.
    package var failed: Int64 = 0
    /// Number of App Store Server API calls in this run.
    package var calls: Int64 = 0
    /// Fraction of the source that has been read, 0 to 1; `nil` if the size of the source is unknown.
    package var fraction: Double?

    package init() {}
}

extension ComparisonStatus {
    /// The progress line. For example, `compared 1,180 of 1,200 rows, 63 %: 3 differ unexpectedly, 20 failed, 2,468
    /// calls`.
    ///
    /// - Parameter wait: The wait for a rate limit; `nil` if no call is waiting.
    package func progress(wait: RateLimitWait?) -> ProgressText {
        let counted = "\(compared.grouped) of \(rows.grouped) rows"
        var parts: [ProgressText.Part] = [.init("compared \(counted)", short: counted, importance: 5)]
        if let fraction, fraction > 0, rows > 0 {
            parts.append(.init("\(Int(fraction * 100)) %", importance: 3, isInBar: true))
        }
        let unexpected = unexpected.grouped
        parts.append(
            .init("\(unexpected) differ unexpectedly", short: "\(unexpected) differ", importance: 4, after: ": "))
        parts.append(.init("\(failed.grouped) failed", importance: 2))
        if calls > 0 { parts.append(.init("\(calls.grouped) calls", importance: 1)) }
        return ProgressText(parts + [.waiting(wait, importance: 9)].compactMap { $0 }, fraction: fraction, items: rows)
    }
}
