import Comparison
import StoredRows
import StoreTypes

extension ComparisonRun {
    /// Bytes of a batch.
    private static let batchBytes = 16 << 20

    /// Rows of a batch: enough for all workers, and so few that there is something to be seen of it.
    private var batchRows: Int { min(max(options.workers * 4, 16), 256) }

    /// Reads what is left of the source.
    ///
    /// - Returns: why it ended before the source did.
    mutating func compareRows() async throws(RunError) -> Stop? {
        var lastCheckpoint = ContinuousClock.now
        show(progress.findings)
        while true {
            if let stop = stopReason() {
                try save()
                return stop
            }
            let room = options.rowLimit.map { Int(min($0 - taken, Int64(batchRows))) } ?? batchRows
            let batch = try running {
                try source.next(maximumRows: room, maximumBytes: Self.batchBytes)
            }
            guard let batch else { break }
            taken += Int64(batch.rows.count)
            let position = progress.position
            try await compare(batch.rows, at: position)
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

    /// Rows that failed for a while, once more each.
    mutating func tryAgain() async throws(RunError) -> Stop? {
        guard taken == 0, !progress.findings.retries.isEmpty else { return nil }
        var waiting = progress.findings.retries
        progress.findings.retries = []
        while let first = waiting.first {
            if let stop = stopReason() {
                progress.findings.retries += waiting
                try save()
                return stop
            }
            let retries = waiting.prefix { $0.batch == first.batch }
            waiting.removeFirst(retries.count)
            let numbers = Set(retries.map(\.row))
            let rows = try rows(numbers, at: first.batch)
            for retry in retries { progress.findings.tally.removeFailure(retry.code, of: retry.scope) }
            progress.findings.rows -= Int64(rows.count)
            try await compare(rows, at: first.batch)
            show(progress.findings)
        }
        try save()
        return nil
    }

    private func rows(_ numbers: Set<Int64>, at position: SourcePosition?) throws(RunError) -> [SourceRow] {
        try running {
            var source = try Sources.open(
                options.source, options: progress.options, limits: Self.limits(options), at: position)
            var rows: [SourceRow] = []
            while rows.count < numbers.count,
                let batch = try source.next(maximumRows: batchRows, maximumBytes: Self.batchBytes)
            {
                rows += batch.rows.filter { numbers.contains($0.number) }
                if let last = batch.rows.last?.number, let end = numbers.max(), last >= end { break }
            }
            return rows
        }
    }

    /// Several at a time, their findings in the order of the rows.
    ///
    /// - Parameter position: where the batch begins that they stand in.
    private mutating func compare(
        _ rows: [SourceRow], at position: SourcePosition?
    ) async throws(RunError) {
        let outcomes = await outcomes(of: rows)
        var findings = progress.findings
        for (row, outcome) in zip(rows, outcomes) {
            findings.rows += 1
            switch outcome.result {
            case .success(let finding):
                let right = finding.serverAPI
                findings.tally.add(
                    finding.differences, of: outcome.scope,
                    historyVersion: right.latest == nil ? nil : right.historyVersion, isWhole: finding.isWhole,
                    isVerified: right.isVerified)
                findings.samples.offer(
                    verifyReceipt: finding.verifyReceipt, serverAPI: right, differences: finding.differences,
                    receipt: Self.id(of: row), limit: options.shownPairs)
                var lines: [UInt8] = []
                for difference in finding.differences { lines += difference.json + [0x0A] }
                try running { try output.append(lines) }
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
        findings.bytes = output.size
        progress.findings = findings
    }

    private func outcomes(of rows: [SourceRow]) async -> [RowComparer.Outcome] {
        await withTaskGroup(of: (Int, RowComparer.Outcome).self) { [comparer, options] group in
            var outcomes = [RowComparer.Outcome?](repeating: nil, count: rows.count)
            var next = 0
            func begin() {
                guard next < rows.count else { return }
                let (index, row) = (next, rows[next])
                next += 1
                group.addTask { (index, await comparer.compare(row.value, id: Self.id(of: row))) }
            }
            for _ in 0..<max(options.workers, 1) { begin() }
            while let (index, outcome) = await group.next() {
                outcomes[index] = outcome
                begin()
            }
            return outcomes.compactMap { $0 }
        }
    }

    private static func id(of row: SourceRow) -> String { row.id ?? "#\(row.number)" }

    /// Makes everything until here durable.
    private mutating func save() throws(RunError) {
        try running {
            try output.makeDurable()
            if let ledger { try progress.keep(in: ledger) }
        }
    }
}
