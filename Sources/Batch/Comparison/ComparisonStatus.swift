package import ReceiptBridgeBase
package import ReceiptBridgeComparison

package typealias ComparisonMonitor = RunMonitor<ComparisonStatus>

/// Progress of a running comparison. The counts are those of ``ComparisonRun/ComparisonEnding``.
package struct ComparisonStatus: Sendable {
    package var rows: Int64 = 0
    package var compared: Int64 = 0
    package var unexpected: Int64 = 0
    package var failed: Int64 = 0
    package var calls: Int64 = 0
    /// Fraction of the source that has been read, 0 to 1; `nil` if the size of the source is unknown.
    package var fraction: Double?

    package init() {}
}

extension ComparisonStatus {
    /// The progress line. For example, `compared 1,180 of 1,200 rows, 63 %: 3 differ unexpectedly, 20 failed, 2,468
    /// calls`.
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
