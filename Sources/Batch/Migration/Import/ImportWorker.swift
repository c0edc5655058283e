import ReceiptBridgeBase
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import Synchronization

/// One worker of an import, with its leases. A file has one worker, a database any number on any machines.
final class ImportWorker: Sendable {
    let store: any ImportStore
    /// The id of the import.
    let run: Int64
    /// Name of this worker, the holder of its leases.
    private let name: String
    /// How long a lease lasts without renewal.
    let duration: Duration
    /// How long an outage of the store is waited for, because a failover takes seconds.
    private let patience: Duration
    private let state = Mutex(State())

    private struct State {
        var leases: Set<ImportLease> = []
        /// Number of calls that are stored.
        var calls: Int64 = 0
    }

    /// The worker of an import in a file.
    init(_ file: SQLiteStore, run: Int64) {
        (store, self.run, name) = (file, run, "the only worker")
        (duration, patience) = (.seconds(15), .zero)
    }

    /// A worker of an import in a database.
    init(_ database: any ImportStore, run: Int64, name: String, lease: Duration) {
        (store, self.run, self.name) = (database, run, name)
        (duration, patience) = (lease, .seconds(60))
    }

    /// Calls the closure with the store, and converts its errors. An error of the connection is repeated for a minute.
    func on<Value: Sendable>(
        _ body: @Sendable (any ImportStore) async throws(StorageError) -> Value
    ) async throws(RunError) -> Value {
        let end = ContinuousClock.now + patience
        var pause = Duration.milliseconds(100)
        while true {
            do throws(StorageError) {
                return try await body(store)
            } catch {
                guard error.isOfConnection, .now + pause < end, !Task.isCancelled else { throw runError(error) }
            }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(5))
        }
    }

    func runError(_ error: any Error) -> RunError {
        guard patience > .zero, let error = error as? StorageError else { return RunError(of: error) }
        return RunError(database: error)
    }

    // MARK: Leases

    func claim(_ task: ImportTask) async throws(RunError) -> ImportLease? {
        added(
            try await on { [run, name, duration] (store) throws(StorageError) in
                try await store.claim(task, of: run, for: name, lasting: duration)
            })
    }

    func claimChunk(_ shard: ImportShard) async throws(RunError) -> ImportLease? {
        added(
            try await on { [run, name, duration] (store) throws(StorageError) in
                try await store.claimChunk(of: run, shard, for: name, lasting: duration)
            })
    }

    private func added(_ lease: ImportLease?) -> ImportLease? {
        if let lease { state.withLock { _ = $0.leases.insert(lease) } }
        return lease
    }

    /// Forgets the lease of a chunk that has ended or that another worker has.
    func drop(_ lease: ImportLease) { state.withLock { _ = $0.leases.remove(lease) } }

    func release(_ lease: ImportLease) async {
        drop(lease)
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
        try await on { [run] (store) throws(StorageError) in try await store.add(calls: new, to: run) }
    }

    /// Merges the customers that are the same, or waits while another worker does.
    ///
    /// - Returns: the reason to stop before they are merged.
    func resolve(stop: () -> Migration.Stop?) async throws(RunError) -> Migration.Stop? {
        let run = run
        func hasEnded() async throws(RunError) -> Bool {
            try await on { (store) throws(StorageError) in try await store.hasEnded(.resolve, of: run) }
        }
        while try await !hasEnded() {
            if let stop = stop(), stop != .rowLimit { return stop }
            if let lease = try await claim(.resolve) {
                try await on { (store) throws(StorageError) in try await store.resolve(lease) }
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
