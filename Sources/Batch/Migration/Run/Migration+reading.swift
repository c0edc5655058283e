import Base
import ReceiptInspection
import Reports
import Storage

extension Migration {
    /// Reads and decodes the remaining rows of the source, several batches concurrently, and writes them in order.
    ///
    /// - Parameters:
    ///   - write: Writes a row. If another row has its id, it is called again with a different id.
    ///   - checkpoint: Makes the written rows durable and returns the position of the sink.
    /// - Returns: The reason if the run stopped before the end of the source.
    mutating func readRows(
        write: (DecodedRow) throws -> WriteResult, checkpoint: () throws -> SinkPosition
    ) async throws(RunError) -> Stop? {
        guard progress.whole == nil else { return nil }
        do {
            try ledger.deleteRows(after: progress.checkpoint.counts.rows)
            return try await decodeAll(write: write, checkpoint: checkpoint)
        } catch {
            throw RunError(of: error)
        }
    }

    /// Decodes batches concurrently and processes them in order.
    private mutating func decodeAll(
        write: (DecodedRow) throws -> WriteResult, checkpoint: () throws -> SinkPosition
    ) async throws -> Stop? {
        let reader = reader
        let rule = UnverifiedRule(options.persisted, lookups)
        var counts = progress.checkpoint.counts
        var lastCheckpoint = ContinuousClock.now
        var refusals: [Refusal] = []
        var stop: Stop?
        var tail: [DecodedRow] = []

        /// Makes everything durable: first the destination, then the progress file.
        func save(_ end: SourcePosition?) throws {
            progress.checkpoint.sink = try checkpoint()
            progress.checkpoint.source = end ?? progress.checkpoint.source
            progress.checkpoint.counts = counts
            try ledger.add(refusals)
            refusals.removeAll(keepingCapacity: true)
            try progress.save(in: ledger)
            lastCheckpoint = .now
        }

        /// Makes the id of a row unique, writes the row and counts it.
        func process(_ row: DecodedRow) throws {
            var row = row
            let lacksId = row.id.isEmpty
            if lacksId { row.rename() }
            while try write(row) == .repeatedId { row.rename() }
            if row.isRenamed {
                if counts.renamedIds == 0, !lacksId || source.notices.isEmpty {
                    notify(
                        (lacksId
                            ? "row \(row.number) has no id (--id-column NAME names another column than id)"
                            : "row \(row.number) has the id of another row")
                            + "; such rows are named ID#ROW, this one \(row.id)"
                            + (ledger.hasSourceColumns ? "; the column sourceId has the ids of the source" : ""))
                }
                counts.renamedIds += 1
            }
            counts.add(row.result, year: row.year)
            if let app = row.appToLookUp, lookups?.handles(app) == false { counts.add(rowsWithoutKey: 1, of: app) }
            if let refusal = row.refusal { refusals.append(refusal) }
        }

        var isAtEnd = false
        var batches: [(SourceBatch, decoding: Task<[DecodedRow], Never>)] = []
        while true {
            while !isAtEnd, batches.count < options.workers + 2 {
                stop = self.stop
                let room = options.rowLimit.map { min($0 - rowsRead, 64) } ?? 64
                guard stop == nil, let batch = try source.next(maximumRows: Int(room), maximumBytes: 1 << 20) else {
                    isAtEnd = true
                    break
                }
                rowsRead += Int64(batch.rows.count)
                let task = Task {
                    batch.rows.map { DecodedRow($0, reader: reader, rule: rule) }
                }
                batches.append((batch, task))
            }
            guard !batches.isEmpty else { break }
            let (batch, decoding) = batches.removeFirst()
            let rows = await decoding.value
            if batch.isUnfinishedTail {
                tail = rows
                continue
            }
            for row in rows { try process(row) }
            monitor.change { [counts, fraction = source.fraction] in
                $0.counts = counts
                $0.fraction = fraction
            }
            if refusals.count > 10_000 || lastCheckpoint.duration(to: .now) >= options.checkpointInterval {
                try save(batch.end)
            } else {
                progress.checkpoint.source = batch.end
            }
        }
        try save(nil)
        if stop == nil {
            // The last row has no line break. If more is written to it later, the next run starts before this row.
            for row in tail { try process(row) }
            _ = try checkpoint()
            try ledger.add(refusals)
            progress.whole = counts
            try progress.save(in: ledger)
        }
        monitor.change { [counts] in $0.counts = counts }
        return stop
    }
}
