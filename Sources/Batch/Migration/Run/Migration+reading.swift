import ReceiptBridgeBase
import ReceiptBridgeStorage

extension Migration {
    /// Number of rows after which they are stored.
    private static let rowsPerTransaction = 2_000

    /// Reads and decodes the remaining rows of the source, several batches concurrently, and writes them in order.
    ///
    /// - Parameters:
    ///   - isLookedUp: Whether all rows are stored with their customers; otherwise only refused ones are.
    ///   - prepare: Called before the first row, when the rows after the checkpoint are deleted.
    ///   - write: Writes a row. If another row has its id, it is called again with a different id.
    ///   - position: Makes the written rows durable and returns the position of the sink.
    /// - Returns: The reason if the run stopped before the end of the source.
    mutating func readRows(
        isLookedUp: Bool, prepare: () throws -> Void = {}, write: (DecodedRow) throws -> WriteResult,
        position: () throws -> SinkPosition
    ) async throws(RunError) -> RunStop? {
        guard progress.whole == nil else { return nil }
        let (worker, rows) = (worker, progress.checkpoint.counts.rows)
        try await worker.on(try await worker.store.deleteRows(of: worker.run, after: rows))
        do {
            try prepare()
            return try await decodeAll(isLookedUp, write, position)
        } catch {
            throw RunError(of: error)
        }
    }

    /// Decodes batches concurrently and processes them in order.
    private mutating func decodeAll(
        _ isLookedUp: Bool, _ write: (DecodedRow) throws -> WriteResult, _ position: () throws -> SinkPosition
    ) async throws -> RunStop? {
        var counts = progress.checkpoint.counts
        var lastCheckpoint = ContinuousClock.now
        var batch = ImportBatch()
        var stop: RunStop?
        var tail: [DecodedRow] = []

        /// Makes everything durable: first the destination, then the rows and the progress.
        func save(_ end: SourcePosition?) async throws {
            progress.checkpoint.sink = try position()
            progress.checkpoint.source = end ?? progress.checkpoint.source
            progress.checkpoint.counts = counts
            _ = try await worker.store(&batch, .progress(try progress.json))
            lastCheckpoint = .now
        }

        /// Makes the id of a row unique, writes the row and counts it.
        func process(_ row: DecodedRow) throws {
            var row = row
            let lacksId = row.result.id.isEmpty
            if lacksId { row.rename() }
            while try write(row) == .repeatedId { row.rename() }
            if row.isRenamed {
                if counts.renamedIds == 0, !lacksId || source.notices.isEmpty {
                    context.notify(
                        (lacksId
                            ? "row \(row.result.row) has no id (--id-column NAME names another column than id)"
                            : "row \(row.result.row) has the id of another row")
                            + "; such rows are named ID#ROW, this one \(row.result.id)"
                            + "; the column sourceId has the ids of the source")
                }
                counts.renamedIds += 1
            }
            counts.add(row.result)
            guard isLookedUp || row.result.outcome == .refused else { return }
            let isHandled = row.result.bundleId.flatMap { lookups?.handles($0) } ?? false
            batch.add(row.result.values, of: isLookedUp && isHandled ? row.customer : nil)
        }

        var isAtEnd = false
        /// Returns the next rows of the source; `nil` at its end, and if there is a reason to stop.
        func read() throws -> SourceBatch? {
            guard !isAtEnd else { return nil }
            stop = context.stop(after: rowsRead)
            let room = options.limits.items.map { min($0 - rowsRead, 64) } ?? 64
            guard stop == nil, let batch = try source.next(maximumRows: Int(room), maximumBytes: 1 << 20) else {
                isAtEnd = true
                return nil
            }
            rowsRead += Int64(batch.rows.count)
            return batch
        }

        _ = try await Run(workers: options.workers + 2, ahead: 0) { _ in nil }.run(
            next: { () async throws in try read() },
            perform: { [context] (batch: SourceBatch) async throws in batch.rows.map(context.decode) },
            finish: { (read, rows) async throws in
                guard !read.isUnfinishedTail else { return tail = rows }
                for row in rows { try process(row) }
                monitor.change { [counts, fraction = source.fraction] in
                    ($0.counts, $0.fraction) = (counts, fraction)
                }
                if batch.count >= Self.rowsPerTransaction
                    || lastCheckpoint.duration(to: .now) >= options.checkpointInterval
                {
                    try await save(read.end)
                } else {
                    progress.checkpoint.source = read.end
                }
            })
        try await save(nil)
        if stop == nil {
            // The last row has no line break. If more is written to it later, the next run starts before this row.
            for row in tail { try process(row) }
            _ = try position()
            progress.whole = counts
            _ = try await worker.store(&batch, .progress(try progress.json))
        }
        monitor.change { [counts] in $0.counts = counts }
        return stop
    }
}
