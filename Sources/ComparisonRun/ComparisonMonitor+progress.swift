import Ledger
package import Reports

extension ComparisonMonitor.Snapshot {
    /// The progress line. For example, `compared 1,180 of 1,200 rows, 63 %: 3 differ unexpectedly, 20 failed, 2,468
    /// calls`.
    ///
    /// - Parameter wait: Time until the rate limit allows the next waiting call; `nil` if no call is waiting.
    package func progress(wait: Duration?) -> ProgressText {
        let counted = "\(compared.grouped) of \(rows.grouped) rows"
        var parts: [ProgressText.Part] = [.init("compared \(counted)", short: counted, importance: 5)]
        if let fraction, fraction > 0, rows > 0 { parts.append(.init("\(Int(fraction * 100)) %", importance: 3)) }
        let unexpected = unexpected.grouped
        parts.append(
            .init("\(unexpected) differ unexpectedly", short: "\(unexpected) differ", importance: 4, after: ": "))
        parts.append(.init("\(failed.grouped) failed", importance: 2))
        if calls > 0 { parts.append(.init("\(calls.grouped) calls", importance: 1)) }
        return ProgressText(parts + [.waiting(wait, importance: 9)].compactMap { $0 })
    }
}
