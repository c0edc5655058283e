import ReceiptBridgeBase
import Foundation
import ReceiptBridgeStorage
import Synchronization

extension SharedMigration {
    /// Consecutive failures of chunks after which the run ends.
    private static let failureLimit = 5

    /// Plans the chunks, if no other worker does, and reads them until all have ended or the run has to stop.
    func readChunks(_ worker: ImportWorker) async throws(RunError) {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.plan(worker) }
                for _ in 0..<options.workers {
                    group.addTask { try await self.readWaitingChunks(worker) }
                }
                try await group.waitForAll()
            }
        } catch {
            throw worker.runError(error)
        }
    }

    // MARK: Planning

    /// Waits until the source has been divided into chunks, and does it if no other worker does.
    private func plan(_ worker: ImportWorker) async throws(RunError) {
        while stop == nil, try await !tally(worker, .whole).isPlanned {
            guard let lease = try await worker.claim(.plan) else {
                try? await Task.sleep(for: .milliseconds(500))
                continue
            }
            try await plan(worker, lease)
            await worker.release(lease)
        }
    }

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

    // MARK: Reading

    private func readWaitingChunks(_ worker: ImportWorker) async throws(RunError) {
        var failures = 0
        while stop == nil {
            guard let lease = try await worker.claimChunk(options.shard) else {
                let tally = try await tally(worker, options.shard)
                show(tally)
                if tally.isComplete { return }
                try? await Task.sleep(for: .milliseconds(Int.random(in: 100...400)))
                continue
            }
            do throws(RunError) {
                let counts = try await store(lease, worker)
                worker.drop(lease)
                failures = 0
                guard let counts else { continue }
                let all = state.withLock { state in
                    state.counts.add(counts)
                    return state.counts
                }
                context.monitor.change { $0.counts = all }
                if lease.number % 16 == 0 { show(try await tally(worker, options.shard)) }
            } catch {
                // If the transaction was committed nevertheless, the chunk has ended, and this changes nothing.
                await worker.release(lease)
                failures += 1
                guard case .interrupted = error, failures < Self.failureLimit else { throw error }
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    private func show(_ tally: ImportChunkTally) {
        guard tally.isPlanned, tally.all > 0 else { return }
        context.monitor.change { $0.fraction = 1 - Double(tally.open * options.shard.count) / Double(tally.all) }
    }

    /// Decodes and stores the rows of a chunk, with its mark.
    ///
    /// - Returns: the counts of its rows; `nil` if another worker has the chunk.
    private func store(_ lease: ImportLease, _ worker: ImportWorker) async throws(RunError) -> MigrationCounts? {
        guard let range = lease.chunk else { return nil }
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
        return try await worker.store(&batch, .chunk(lease, counts: json)) ? counts : nil
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
