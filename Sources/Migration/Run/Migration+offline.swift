import StoredRows

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
                options.destination, withAPI: false, at: isDestinationOurs ? progress.checkpoint.sink : nil)
        }
        let stop = try await readRows(
            write: { try sink.write($0.result) }, checkpoint: { try sink.checkpoint() })
        try running {
            progress.result = try sink.checkpoint()
            try sink.close()
            progress.isFinished = stop == nil
            try progress.save(in: ledger)
        }
        monitor.show { $0.phase = .done }
        return ending(stop: stop)
    }
}
