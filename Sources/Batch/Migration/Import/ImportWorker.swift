import ReceiptBridgeBase
import ReceiptBridgeStorage
import Synchronization

/// One worker of an import, with its leases. A file has one worker, a database any number on any machines.
final class ImportWorker: Sendable {
    let store: any ImportStore
    /// The id of the import.
    let run: Int64
    let context: MigrationContext
    /// Name of this worker, the holder of its leases.
    private let name: String
    /// How long a lease lasts without renewal.
    let duration: Duration
    private let patience: Duration
    private let state = Mutex(State())

    private struct State {
        var leases: Set<ImportLease> = []
        /// Number of calls that are stored.
        var calls: Int64 = 0
    }

    /// - Parameter patience: how long an outage of the store is waited for.
    init(_ store: any ImportStore, run: Int64, _ context: MigrationContext, patience: Duration = .zero) {
        (self.store, self.run, self.context, self.patience) = (store, run, context, patience)
        (name, duration) = (context.options.worker, context.options.lease)
    }

    /// Makes a call of the store, and converts its errors. An error of the connection is repeated for a minute.
    func on<Value: Sendable>(
        _ call: @autoclosure @Sendable () async throws(StorageError) -> Value
    ) async throws(RunError) -> Value {
        let end = ContinuousClock.now + patience
        var pause = Duration.milliseconds(100)
        while true {
            do throws(StorageError) {
                return try await call()
            } catch {
                guard error.isOfConnection, .now + pause < end, !Task.isCancelled else { throw runError(error) }
            }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(5))
        }
    }

    /// Stores decoded rows with a mark, and empties the batch.
    ///
    /// - Returns: `false` if another worker has the chunk.
    func store(_ batch: inout ImportBatch, _ mark: ImportMark) async throws(RunError) -> Bool {
        let rows = batch
        batch = ImportBatch()
        return try await on(try await store.add(rows, to: run, mark))
    }

    func runError(_ error: any Error) -> RunError {
        guard patience > .zero, let error = error as? StorageError else { return RunError(of: error) }
        return RunError(database: error)
    }

    // MARK: Leases

    func claim(_ task: ImportTask) async throws(RunError) -> ImportLease? {
        added(try await on(try await store.claim(task, of: run, for: name, lasting: duration)))
    }

    func claimChunk(_ shard: ImportShard) async throws(RunError) -> ImportLease? {
        added(try await on(try await store.claimChunk(of: run, shard, for: name, lasting: duration)))
    }

    private func added(_ lease: ImportLease?) -> ImportLease? {
        if let lease { state.withLock { _ = $0.leases.insert(lease) } }
        return lease
    }

    func release(_ lease: ImportLease) async {
        state.withLock { _ = $0.leases.remove(lease) }
        try? await store.release(lease)
    }

    /// Whether this worker still has a lease, as far as it knows.
    func holds(_ lease: ImportLease) -> Bool { state.withLock { $0.leases.contains(lease) } }

    /// Does work while the leases are renewed, and releases them.
    func renewing<Value>(_ body: () async throws(RunError) -> Value) async throws(RunError) -> Value {
        let heartbeat = Task { await renewLeases() }
        let result: Result<Value, RunError> = await Result { () async throws(RunError) in try await body() }
        heartbeat.cancel()
        for lease in state.withLock({ $0.leases }) { await release(lease) }
        return try result.get()
    }

    /// Extends the leases until the task is canceled, three times within their duration.
    private func renewLeases() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: duration / 3)
            let leases = state.withLock { Array($0.leases) }
            guard !leases.isEmpty, let kept = try? await store.renew(leases, lasting: duration) else { continue }
            state.withLock { $0.leases.subtract(Set(leases).subtracting(kept)) }
        }
    }

    // MARK: Totals

    /// Adds the calls since the last time to those of the import.
    func count(_ calls: Int64) async throws(RunError) {
        let new = state.withLock { state in
            defer { state.calls = max(calls, state.calls) }
            return calls - state.calls
        }
        try await on(try await store.add(calls: new, to: run))
    }

    /// Merges the customers that are the same, or waits while another worker does.
    ///
    /// - Returns: the reason to stop before they are merged.
    func resolve(canStop: Bool = true) async throws(RunError) -> RunStop? {
        while try await !on(try await store.hasEnded(.resolve, of: run)) {
            if canStop, let stop = context.stop() { return stop }
            if let lease = try await claim(.resolve) {
                try await on(try await store.resolve(lease))
                await release(lease)
            } else {
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
        return nil
    }
}

extension StorageError {
    /// Whether the statement may succeed once there is a connection to a server that accepts writes.
    var isOfConnection: Bool { [.notOpen, .locked].contains(code) }
}
