import ReceiptBridgeBase
import ReceiptBridgeComparison
import ReceiptBridgeStorage

extension Migration {
    /// Writes the complete result from the progress file, then replaces the previous result atomically.
    func writeResult() throws(RunError) -> (MigrationCounts, SinkPosition) {
        monitor.change { $0.phase = .writing }
        return try running {
            let draft = Files.draft(of: options.destination)
            try Files.remove(draft)
            var sink = try ResultWriters.open(
                draft, format: options.persisted.resultFormat, withAPI: true, at: nil)
            var counts = MigrationCounts()
            counts.renamedIds = (progress.whole ?? progress.checkpoint.counts).renamedIds
            try forEachResult { result, row in
                var result = result
                // Stored ids are unique, but a sink that stores fingerprints of ids may report a collision.
                while try sink.write(result) == .repeatedId { result.id += "#\(row.row)" }
                counts.add(result, year: row.year.map { Int($0) })
                if row.lacksKey, let app = row.bundleId { counts.add(rowsWithoutKey: 1, of: app) }
            }
            let end = try sink.checkpoint()
            try sink.close()
            try Files.replace(options.destination, with: draft)
            return (counts, end)
        }
    }

    /// Passes each row of the complete result to `body`, in order, with the decoded row that it is made of.
    func forEachResult(_ body: (ResultRow, ImportedRow) throws -> Void) throws {
        var last: Int64 = 0
        while true {
            let rows = try file.store.importedRows(of: worker.run, after: last, limit: 64)
            guard let end = rows.last?.row.row else { return }
            for (row, hasCustomer, finding) in rows {
                let result: ResultRow
                do { result = try ResultRow(row, hasCustomer: hasCustomer, finding) } catch {
                    throw StorageError(.damaged, at: options.progressPath, "row \(row.row) is damaged")
                }
                try body(result, row)
            }
            last = end
        }
    }
}

extension Migration {
    /// Writes rows to the result as they are read.
    mutating func runOffline() async throws(RunError) -> RunResult {
        guard !options.isPlan else {
            throw .notPossible("--plan requires --with-api: without it, no calls are made")
        }
        try await save()
        var sink = try running {
            try ResultWriters.open(
                options.destination, format: options.persisted.resultFormat, withAPI: false,
                at: isDestinationOurs ? progress.checkpoint.sink : nil)
        }
        // The result was opened at the checkpoint, which does not include a last row without a line break. A run that
        // ended between counting this row and finishing the result must write the row again.
        progress.whole = nil
        let stop = try await readRows(
            isLookedUp: false, write: { try sink.write($0.result) }, position: { try sink.checkpoint() })
        try running {
            progress.result = try sink.checkpoint()
            try sink.close()
        }
        progress.isFinished = stop == nil
        try await save()
        monitor.change { $0.phase = .done }
        return ending(stop: stop)
    }
}
