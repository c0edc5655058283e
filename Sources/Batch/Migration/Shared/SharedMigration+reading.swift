import Base
import PostgreSQLClient
import ReceiptInspection
import Reports
import Synchronization

extension SharedMigration {
    /// A chunk whose lease has passed to another worker, which reads it instead.
    private struct LostLease: Error {}

    /// Maximum number of rows in one COPY.
    private static let rowsPerCopy = 2_048
    /// Time for one chunk.
    private static let chunkLimit = Duration.seconds(600)
    /// Consecutive failures of chunks after which the run ends.
    private static let failureLimit = 5

    /// Plans the chunks, if no other worker does, and reads them until all have ended or the run has to stop.
    func readChunks(of migration: Int64) async throws(RunError) {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.plan(migration) }
                for _ in 0..<options.migration.workers {
                    group.addTask { try await self.readWaitingChunks(of: migration) }
                }
                try await group.waitForAll()
            }
        } catch {
            throw database.runError(error)
        }
    }

    // MARK: Planning

    /// Waits until the source has been divided into chunks, and does it if no other worker does.
    private func plan(_ migration: Int64) async throws(RunError) {
        while stop == nil, try await !database.tally(of: migration, .whole).isPlanned {
            guard let lease = try await claim(.plan, of: migration) else {
                try? await Task.sleep(for: .milliseconds(500))
                continue
            }
            try await plan(lease)
            await release(lease)
        }
    }

    private func plan(_ lease: WorkLease) async throws(RunError) {
        guard try await !database.tally(of: lease.migration, .whole).isPlanned else { return }
        let last = try await database.lastChunk(of: lease.migration)
        var number = (last?.number ?? -1) + 1
        var planner = try running { try ChunkPlanner(source, size: options.chunkSize, after: last?.chunk) }
        var chunks: [(number: Int64, chunk: SourceChunk)] = []
        var lastAddition = ContinuousClock.now
        while stop == nil, holds(lease) {
            guard let chunk = try running({ try planner.next() }) else {
                // In the same transaction as the last chunk, so that no other worker plans the end again.
                try await database.add(chunks, areLast: true, lease)
                return
            }
            if let ready = chunks.last, chunks.count >= 200 || lastAddition.duration(to: .now) > .milliseconds(200) {
                try await database.add(chunks, areLast: false, lease)
                chunks.removeAll { $0.number <= ready.number }
                lastAddition = .now
            }
            chunks.append((number, chunk))
            number += 1
            await Task.yield()
        }
    }

    // MARK: Reading

    private func readWaitingChunks(of migration: Int64) async throws(RunError) {
        var failures = 0
        while stop == nil {
            guard let lease = try await database.claimChunk(of: migration, options.shard) else {
                let tally = try await database.tally(of: migration, options.shard)
                show(tally)
                if tally.isComplete { return }
                try? await Task.sleep(for: .milliseconds(Int.random(in: 100...400)))
                continue
            }
            state.withLock { _ = $0.chunks.insert(lease) }
            defer { state.withLock { _ = $0.chunks.remove(lease) } }
            do {
                let counts = try await database.client.transaction(within: Self.chunkLimit) { transaction in
                    try await self.store(lease, in: transaction)
                }
                failures = 0
                let all = state.withLock { state in
                    state.counts.add(counts)
                    return state.counts
                }
                monitor.change { $0.counts = all }
                if lease.number % 16 == 0 { show(try await database.tally(of: migration, options.shard)) }
            } catch is LostLease {
                continue
            } catch {
                failures += 1
                let canBeRepeated = (error as? PostgreSQLError)?.isOfConnection ?? false
                guard canBeRepeated, failures < Self.failureLimit else {
                    try? await database.release(lease)
                    throw database.runError(error)
                }
                // If the transaction was committed nevertheless, the chunk has ended, and this changes nothing.
                try await database.release(lease)
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    private func show(_ tally: ChunkTally) {
        guard tally.isPlanned, tally.all > 0 else { return }
        monitor.change { $0.fraction = 1 - Double(tally.open * options.shard.count) / Double(tally.all) }
    }

    /// A row that waits for the key of its customer.
    private struct WaitingRow {
        let row: DecodedRow
        /// Place of the customer in ``ChunkCustomers``.
        let place: Int
    }

    /// Decodes and stores the rows of a chunk, with its mark. May be called again after a conflict.
    ///
    /// Only rows with a customer are held in memory. Their receipts are much larger.
    private func store(_ lease: ChunkLease, in transaction: PostgreSQLTransaction) async throws -> MigrationCounts {
        var chunk = try ChunkReader(source, lease.chunk)
        var counts = MigrationCounts()
        var customers = ChunkCustomers()
        var waiting: [WaitingRow] = []
        var values: [[PostgreSQLValue]] = []
        func copy(ifAtLeast count: Int) async throws {
            guard values.count >= count else { return }
            _ = try await transaction.copyIn(Self.copy, rows: values)
            values.removeAll(keepingCapacity: true)
        }
        let rule = UnverifiedRule(options.migration.persisted, lookups)
        while let rows = try chunk.next(maximumRows: 64, maximumBytes: 1 << 20) {
            for sourceRow in rows {
                var row = DecodedRow(sourceRow, reader: reader, rule: rule)
                if row.id.isEmpty { name(&row, in: lease, &counts) }
                counts.add(row.result, year: row.year)
                if let app = row.appToLookUp, lookups?.handles(app) == false { counts.add(rowsWithoutKey: 1, of: app) }
                if let place = customers.add(row, scope: try await scope(of: row)) {
                    waiting.append(WaitingRow(row: row, place: place))
                } else {
                    values.append(Self.values(of: row, in: lease, customer: nil))
                }
            }
            try await copy(ifAtLeast: Self.rowsPerCopy)
            await Task.yield()
        }
        let (groups, indices) = customers.groups()
        let keys = try await database.store(groups, of: lease.migration, in: transaction)
        for waitingRow in waiting {
            let key = indices[waitingRow.place].map { keys[$0] }
            values.append(Self.values(of: waitingRow.row, in: lease, customer: key))
            try await copy(ifAtLeast: Self.rowsPerCopy)
        }
        try await copy(ifAtLeast: 1)
        let mark = try await transaction.query(try database.end(lease, counts: counts))
        guard mark.rows.count == 1 else { throw LostLease() }
        return counts
    }

    /// Names a row without id by its chunk and its number there, which are the same in each run.
    private func name(_ row: inout DecodedRow, in lease: ChunkLease, _ counts: inout MigrationCounts) {
        row.id = "#\(lease.number).\(row.number)"
        counts.renamedIds += 1
        let isFirst = state.withLock { state in
            defer { state.hasNamedRows = true }
            return !state.hasNamedRows
        }
        if isFirst { notify("a row has no id; such rows are named #CHUNK.ROW, this one \(row.id)") }
    }

    /// Returns the row id of the app and environment of a row. Only rows with a customer need one.
    private func scope(of row: DecodedRow) async throws(RunError) -> Int64 {
        guard let bundleId = row.bundleId, !ChunkCustomers.identifiers(of: row).isEmpty else { return 0 }
        let key = [bundleId, row.lookupEnvironment]
        if let id = state.withLock({ $0.scopes[key] }) { return id }
        let id = try await database.scope(key[0], key[1])
        state.withLock {
            if $0.scopes.count > 10_000 { $0.scopes = [:] }
            $0.scopes[key] = id
        }
        return id
    }

    // MARK: Columns

    private static let copy = """
        COPY results (migration, chunk, row, customer, \(ResultColumn.shared.map(\.rawValue).joined(separator: ", ")))
        FROM STDIN (FORMAT binary)
        """

    private static func values(of row: DecodedRow, in lease: ChunkLease, customer: Int64?) -> [PostgreSQLValue] {
        let result = row.result
        return [
            .integer(lease.migration), .integer(lease.number), .integer(row.number), PostgreSQLValue(customer),
        ] + ResultColumn.shared.map { $0.databaseValue(of: result) }
    }
}
