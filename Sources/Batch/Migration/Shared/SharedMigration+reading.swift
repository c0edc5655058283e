import ReceiptBridgeBase
import Foundation
import ReceiptBridgeStorage
import Synchronization

extension SharedMigration {
    /// Consecutive failures of chunks after which the run ends.
    private static let failureLimit = 5

    /// Divides the source into chunks, if no other worker does, and reads them until all have ended or the run has to
    /// stop.
    func readChunks(_ worker: ImportWorker) async throws(RunError) {
        var (failures, reading) = (0, 0)
        // The division of the source is not one of the workers.
        let run = Run(workers: options.workers + 1, isOrdered: false) { _ in self.stop }
        while stop == nil {
            let tally = try await tally(worker, options.shard)
            show(tally)
            if tally.isComplete { return }
            _ = try await run.run(
                next: { () async throws(RunError) in
                    if let lease = try await worker.claim(.plan) { return lease }
                    guard reading < options.workers, let lease = try await worker.claimChunk(options.shard) else {
                        return nil
                    }
                    reading += 1
                    return lease
                },
                perform: { (lease: ImportLease) async throws(RunError) in
                    await Result { () async throws(RunError) in
                        try await lease.chunk == nil ? self.plan(worker, lease) : self.store(lease, worker)
                    }
                },
                finish: { (lease, result: Result<Void, RunError>) async throws(RunError) in
                    // If the transaction was committed nevertheless, the chunk has ended, and this changes nothing.
                    await worker.release(lease)
                    if lease.chunk != nil { reading -= 1 }
                    do throws(RunError) {
                        try result.get()
                        failures = 0
                        if lease.number % 16 == 0 { show(try await self.tally(worker, options.shard)) }
                    } catch {
                        failures += 1
                        guard case .interrupted = error, failures < Self.failureLimit else { throw error }
                        try? await Task.sleep(for: .milliseconds(500))
                    }
                })
            try? await Task.sleep(for: .milliseconds(Int.random(in: 100...400)))
        }
    }

    /// Divides the source into chunks, after those that are stored.
    private func plan(_ worker: ImportWorker, _ lease: ImportLease) async throws(RunError) {
        let last = try await worker.on(try await worker.store.lastChunk(of: worker.run))
        var number = (last?.number ?? -1) + 1
        var planner = try running { try ChunkPlanner(source, size: options.chunkSize, after: last?.chunk) }
        var chunks: [(number: Int64, chunk: ImportChunk)] = []
        var lastAddition = ContinuousClock.now
        while stop == nil, worker.holds(lease) {
            let chunk = try running { try planner.next() }
            if chunk == nil || chunks.count >= 200 || lastAddition.duration(to: .now) > .milliseconds(200) {
                // The mark is stored with the last chunk, so that no other worker plans the end again.
                let planned = chunks
                try await worker.on(try await worker.store.add(planned, areLast: chunk == nil, lease))
                chunks.removeAll()
                lastAddition = .now
            }
            guard let chunk else { return }
            chunks.append((number, chunk))
            number += 1
            await Task.yield()
        }
    }

    private func show(_ tally: ImportChunkTally) {
        guard tally.isPlanned, tally.all > 0 else { return }
        context.monitor.change { $0.fraction = 1 - Double(tally.open * options.shard.count) / Double(tally.all) }
    }

    /// Decodes and stores the rows of a chunk, with its mark, unless another worker has the chunk.
    private func store(_ lease: ImportLease, _ worker: ImportWorker) async throws(RunError) {
        guard let range = lease.chunk else { return }
        var chunk = try running { try ChunkReader(source, range) }
        var (counts, batch) = (MigrationCounts(), ImportBatch())
        while let rows = try running({ try chunk.next(maximumRows: 64, maximumBytes: 1 << 20) }) {
            for sourceRow in rows {
                var row = context.decode(sourceRow)
                if row.result.id.isEmpty { name(&row.result, in: lease, &counts) }
                counts.add(row.result)
                batch.add(row.result.values, of: row.customer)
            }
            await Task.yield()
        }
        let json = try running { String(decoding: try JSONEncoder().encode(counts), as: UTF8.self).withoutNull }
        guard try await worker.store(&batch, .chunk(lease, counts: json)) else { return }
        let all = state.withLock { state in
            state.counts.add(counts)
            return state.counts
        }
        context.monitor.change { $0.counts = all }
    }

    /// Names a row without id by its chunk and its number there, which are the same in each run.
    private func name(_ row: inout ResultRow, in lease: ImportLease, _ counts: inout MigrationCounts) {
        row.id = "#\(lease.number).\(row.row)"
        counts.renamedIds += 1
        let isFirst = state.withLock { state in
            defer { state.hasNamedRows = true }
            return !state.hasNamedRows
        }
        if isFirst { context.notify("a row has no id; such rows are named #CHUNK.ROW, this one \(row.id)") }
    }
}
