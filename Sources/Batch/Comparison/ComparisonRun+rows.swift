import ReceiptBridgeBase
import ReceiptBridgeComparison

extension ComparisonRun {
    /// Limit on the size of a batch, in bytes (16 MiB).
    private static let batchBytes = 16 << 20

    /// Number of rows in a batch: enough to keep all workers busy, and few enough that progress is visible.
    private var batchRows: Int { min(max(options.workers * 4, 16), 256) }

    /// Compares the remaining rows of the source. Returns the reason if the run stopped before its end.
    mutating func compareRows() async throws(RunError) -> RunStop? {
        // Save before writing to the destination: the checkpoint proves that the destination belongs to this
        // comparison.
        try save()
        var lastCheckpoint = ContinuousClock.now
        show(progress.findings)
        while true {
            if let stop = stopReason() {
                try save()
                return stop
            }
            let limit = options.limits.items.map { Int(min($0 - rowsRead, Int64(batchRows))) } ?? batchRows
            let batch = try running {
                try source.next(maximumRows: limit, maximumBytes: Self.batchBytes)
            }
            guard let batch else { break }
            guard let outcomes = await outcomes(of: batch.rows) else { continue }
            rowsRead += Int64(batch.rows.count)
            try record(outcomes, of: batch.rows, at: progress.position)
            progress.position = batch.end
            progress.hasCountedTail = batch.isUnfinishedTail
            if batch.isUnfinishedTail { break }
            if lastCheckpoint.duration(to: .now) >= options.checkpointInterval {
                try save()
                lastCheckpoint = .now
            }
            show(progress.findings)
        }
        progress.isComplete = true
        try save()
        return nil
    }

    /// Retries rows with a temporary failure, once each. Returns the reason if the run stopped before all retries were
    /// done.
    mutating func retryFailed() async throws(RunError) -> RunStop? {
        guard rowsRead == 0, !progress.findings.retries.isEmpty else { return nil }
        var waiting = progress.findings.retries
        progress.findings.retries = []
        while let first = waiting.first {
            if let stop = stopReason() {
                progress.findings.retries += waiting
                try save()
                return stop
            }
            let retries = waiting.prefix { $0.batch == first.batch }
            let rows = try rows(Set(retries.map(\.row)), at: first.batch)
            guard let outcomes = await outcomes(of: rows) else { continue }
            waiting.removeFirst(retries.count)
            for retry in retries { progress.findings.tally.removeFailure(retry.code, of: retry.scope) }
            progress.findings.rows -= Int64(rows.count)
            try record(outcomes, of: rows, at: first.batch)
            show(progress.findings)
        }
        try save()
        return nil
    }

    /// Reads the rows with these numbers again.
    private func rows(_ rowNumbers: Set<Int64>, at position: SourcePosition?) throws(RunError) -> [SourceRow] {
        try running {
            var source = try Sources.open(
                options.source, options: progress.options, limits: Self.limits(options), at: position)
            var rows: [SourceRow] = []
            while rows.count < rowNumbers.count,
                let batch = try source.next(maximumRows: batchRows, maximumBytes: Self.batchBytes)
            {
                rows += batch.rows.filter { rowNumbers.contains($0.number) }
                if let last = batch.rows.last?.number, let end = rowNumbers.max(), last >= end { break }
            }
            return rows
        }
    }

    /// Adds the outcomes of rows, which are in the batch at the position, to the results.
    private mutating func record(
        _ outcomes: [RowComparer.RowOutcome], of rows: [SourceRow], at position: SourcePosition?
    ) throws(RunError) {
        var findings = progress.findings
        for (row, outcome) in zip(rows, outcomes) {
            findings.rows += 1
            switch outcome.result {
            case .success(let finding):
                let right = finding.serverAPI
                findings.tally.add(
                    finding.differences, of: outcome.scope, customer: finding.customer,
                    historyVersion: right.latest == nil ? nil : right.historyVersion, isWhole: finding.isWhole,
                    isVerified: right.isVerified, isRewritten: finding.verifyReceipt.isRewritten,
                    isOfRecordsOnly: finding.rendered == nil)
                let shown = finding.shown
                findings.samples.offer(
                    verifyReceipt: finding.verifyReceipt, serverAPI: shown.serverAPI, differences: shown.differences,
                    receipt: Self.id(of: row), limit: options.shownPairs)
                try running { for difference in finding.differences { try output.append(difference.json) } }
            case .failure(let failure):
                findings.tally.addFailure(failure.code, of: outcome.scope)
                guard failure.isTemporary else { continue }
                if findings.retries.count < ComparisonProgress.maximumRetries {
                    findings.retries.append(
                        .init(row: row.number, batch: position, code: failure.code, scope: outcome.scope))
                } else {
                    findings.forgottenRetries += 1
                }
            }
        }
        findings.bytes = output.size ?? 0
        progress.findings = findings
    }

    /// Compares several rows concurrently and returns the outcomes in the order of the rows; `nil` if the run has to
    /// stop. Comparisons in flight are canceled, and the next run repeats them as after a crash.
    private func outcomes(of rows: [SourceRow]) async -> [RowComparer.RowOutcome]? {
        var (rest, outcomes) = (rows[...], [RowComparer.RowOutcome]())
        let run = Run(workers: options.workers, cancels: true) { [comparer, options, monitor, rowsRead] _ in
            comparer.stop ?? options.limits.stop(after: rowsRead, isStopped: monitor.isStopped)
        }
        let stop = await run.run(
            next: { rest.popFirst() },
            perform: { [comparer] in await comparer.compare($0.value, id: Self.id(of: $0)) },
            stop: { _ in comparer.stop }, tick: { show(progress.findings) }, finish: { outcomes.append($1) })
        return stop == nil ? outcomes : nil
    }

    /// Id of the row, or `#` and its number. For example, `#12`.
    private static func id(of row: SourceRow) -> String { row.id ?? "#\(row.number)" }

    /// Writes the destination and the checkpoint durably.
    private mutating func save() throws(RunError) {
        try running {
            try output.makeDurable()
            if let ledger { try progress.save(in: ledger) }
        }
    }
}
