import ReceiptBridgeBase
import ReceiptBridgeStorage

extension Migration {
    /// Writes the complete result from the progress file, then replaces the previous result atomically.
    func writeResult() throws(RunError) -> (MigrationCounts, SinkPosition) {
        monitor.change { $0.phase = .writing }
        return try running {
            let draft = Files.draft(of: options.destination)
            try Files.remove(draft)
            // What an error leaves would only take the space that the next run needs.
            defer { try? Files.remove(draft) }
            var sink = try ResultWriters.open(
                draft, format: options.persisted.resultFormat, withAPI: true, at: nil)
            var counts = MigrationCounts()
            counts.renamedIds = (progress.whole ?? progress.checkpoint.counts).renamedIds
            try forEachResult { row in
                var row = row
                // Stored ids are unique, but a sink that stores fingerprints of ids may report a collision.
                while try sink.write(row) == .repeatedId { row.id += "#\(row.row)" }
                counts.add(row)
            }
            let end = try sink.checkpoint()
            try sink.close()
            try Files.replace(options.destination, with: draft)
            return (counts, end)
        }
    }

    /// Passes each row of the complete result to `body`, in order.
    func forEachResult(_ body: (ResultRow) throws -> Void) throws {
        var last: Int64 = 0
        while true {
            let rows = try file.store.results(of: worker.run, after: last) { (row) throws(StorageError) in
                try ResultRow(row)
            }
            guard let end = rows.last?.row else { return }
            for row in rows { try body(row) }
            last = end
        }
    }
}

extension Migration {
    /// Writes rows to the result as they are read.
    mutating func runOffline() async throws(RunError) -> MigrationResult {
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
