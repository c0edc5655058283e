import Base
import Reports
import Storage

extension Migration {
    /// Writes the complete result from the progress file, then replaces the previous result atomically.
    func writeResult() throws(RunError) -> (MigrationCounts, SinkPosition) {
        monitor.change { $0.phase = .writing }
        return try running {
            let draft = Files.draft(of: options.destination)
            try Files.remove(draft)
            var sink = try ResultWriters.open(
                draft, format: options.persisted.resultFormat, withAPI: true, withSource: ledger.hasSourceColumns,
                at: nil)
            var counts = MigrationCounts()
            counts.renamedIds = (progress.whole ?? progress.checkpoint.counts).renamedIds
            try forEachResult { result, row in
                var result = result
                // Staged ids are unique, but a sink that stores fingerprints of ids may report a collision.
                while try sink.write(result) == .repeatedId { result.id += "#\(row.number)" }
                counts.add(result, year: row.year)
                // A lookup changes the outcome.
                if let app = row.appToLookUp, result.outcome == row.outcome { counts.add(rowsWithoutKey: 1, of: app) }
            }
            let end = try sink.checkpoint()
            try sink.close()
            try Files.replace(options.destination, with: draft)
            return (counts, end)
        }
    }

    /// Passes each row of the complete result to `body`, in order, with the decoded row that it is made of.
    func forEachResult(_ body: (ResultRow, DecodedRow) throws -> Void) throws {
        var last: Int64 = 0
        while true {
            let rows = try ledger.stagedRows(after: last, limit: 64)
            guard let end = rows.last else { return }
            for (staged, finding) in rows {
                guard let row = try? DecodedRow(encoded: staged.result) else {
                    throw ledger.damaged("row \(staged.row)")
                }
                try body(row.result(finding, hasCustomer: staged.customer != nil), row)
            }
            last = end.staged.row
        }
    }
}

extension Migration {
    /// Writes rows to the result as they are read.
    mutating func runOffline() async throws(RunError) -> RunResult {
        guard !options.isPlan else {
            throw .notPossible("--plan requires --with-api: without it, no calls are made")
        }
        var sink = try running {
            // Save before writing to the destination: the checkpoint proves that the destination belongs to this
            // migration.
            try progress.save(in: ledger)
            return try ResultWriters.open(
                options.destination, format: options.persisted.resultFormat, withAPI: false,
                withSource: ledger.hasSourceColumns, at: isDestinationOurs ? progress.checkpoint.sink : nil)
        }
        // The result was opened at the checkpoint, which does not include a last row without a line break. A run that
        // ended between counting this row and finishing the result must write the row again.
        progress.whole = nil
        let stop = try await readRows(
            write: { try sink.write($0.result) }, checkpoint: { try sink.checkpoint() })
        try running {
            progress.result = try sink.checkpoint()
            try sink.close()
            progress.isFinished = stop == nil
            try progress.save(in: ledger)
        }
        monitor.change { $0.phase = .done }
        return ending(stop: stop)
    }
}
