import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import DequeModule
import Logging
import ReceiptBridgeStorage
import Synchronization

/// A bounded write queue for the store, so that no request waits for the disk. A write that does not fit into the queue
/// is dropped and counted; a later lookup or notification provides the same data again. Revocations stay in memory
/// until they are written (``KnownRevocations``).
final class BackgroundStoreWriter: Sendable {
    private struct Write: Sendable {
        let cost: Int
        let body: @Sendable (any Store) async throws(StorageError) -> Void
    }

    private struct State {
        var queue: Deque<Write> = []
        var running = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// Maximum number of writes that are waiting or in progress.
    private static let capacity = 256
    /// Maximum number of writes in progress. More would take all connections of a slow database, and notifications
    /// would wait behind them until their time limit.
    private static let concurrentWrites = 2

    private let store: any Store
    private let events: CounterTable
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    /// Called with the customer's identifiers and the begin of the lookup after its records were saved, so that older
    /// records are discarded.
    private let onSave: @Sendable ([String], AppScope, ContinuousClock.Instant) -> Void
    private let state = Mutex(State())
    /// The size of the JWS of all waiting writes.
    private let bytes = ByteBudget(limit: ProcessMemory.Cache.waitingWrites.size())
    private let logThrottle = LogThrottle<String>()

    init(
        store: any Store, events: CounterTable, logger: Logger, now: @escaping @Sendable () -> Timestamp,
        onSave: @escaping @Sendable ([String], AppScope, ContinuousClock.Instant) -> Void
    ) {
        (self.store, self.events) = (store, events)
        (self.logger, self.now, self.onSave) = (logger, now, onSave)
    }

    /// Saves the result of a lookup. Xcode records, and records that cannot be stored (``CustomerRow``), are ignored.
    ///
    /// - Parameters:
    ///   - keys: identifiers of the receipt that the records were looked up for.
    ///   - askedAt: when the lookup began.
    ///   - begin: the same instant.
    ///   - whenDone: called with whether the records are stored.
    func save(
        _ records: CustomerRecords, for keys: CustomerIdentifiers, in scope: AppScope, askedAt: Timestamp,
        since begin: ContinuousClock.Instant, whenDone: @escaping @Sendable (Bool) -> Void
    ) {
        guard records.environment != .xcode,
            let row = CustomerRow(records, keys: keys, askedAt: askedAt)
        else { return whenDone(false) }
        let identifiers = records.watchedIdentifiers
        let cost = row.transactions.reduce(0) { $0 + $1.text.utf8.count }
        let isQueued = run(cost: cost) { store throws(StorageError) in
            do throws(StorageError) {
                try await store.customers.save(row, of: scope)
            } catch {
                whenDone(false)
                throw error
            }
            self.onSave(identifiers, scope, begin)
            whenDone(true)
        }
        if !isQueued { whenDone(false) }
    }

    /// - Parameter receipt: a digest of the receipt.
    func saveIdentifiers(_ keys: CustomerIdentifiers, of receipt: [UInt8]) {
        let now = now()
        run(cost: 64 + 24 * (keys.originalTransactionIds.count + keys.transactionIds.count)) {
            store throws(StorageError) in
            try await store.revocations.saveIdentifiers(keys, of: receipt, at: now)
        }
    }

    /// Enqueues a write. Returns `false` if the queue is full.
    ///
    /// - Parameter cost: bytes of memory that the write holds until it is done.
    @discardableResult
    func run(cost: Int, _ body: @escaping @Sendable (any Store) async throws(StorageError) -> Void) -> Bool {
        let isQueued = state.withLock { state in
            guard state.queue.count + state.running < Self.capacity, bytes.reserve(cost) else { return false }
            state.queue.append(Write(cost: cost, body: body))
            if state.running < Self.concurrentWrites {
                state.running += 1
                Task { await self.work() }
            }
            return true
        }
        if !isQueued { recordLoss("store write queue full; dropping a background write", nil) }
        return isQueued
    }

    private func work() async {
        while let write = next() {
            do throws(StorageError) {
                try await write.body(store)
            } catch {
                recordLoss("background write failed", error)
            }
            bytes.release(write.cost)
        }
    }

    /// Takes the next write. At the end of the last one, resumes those who wait for it.
    private func next() -> Write? {
        let (write, waiters) = state.withLock { state -> (Write?, [CheckedContinuation<Void, Never>]) in
            if let write = state.queue.popFirst() { return (write, []) }
            state.running -= 1
            guard state.running == 0 else { return (nil, []) }
            defer { state.waiters = [] }
            return (nil, state.waiters)
        }
        for continuation in waiters { continuation.resume() }
        return write
    }

    func finish() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                guard state.running > 0 else { return true }
                state.waiters.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }

    /// Counts a write that is lost, and logs it at most once a minute for each message.
    private func recordLoss(_ line: String, _ error: StorageError?) {
        events.add(MetricEvent.droppedWrites)
        guard logThrottle.allows(line, at: now().sinceEpoch) else { return }
        logger.warning(
            "\(line)",
            metadata: [
                "reason": "\(error?.description ?? "busy")",
                "dropped": .stringConvertible(events.count(MetricEvent.droppedWrites)),
            ])
    }
}

/// A limit in bytes that several operations share. For example, the texts of all waiting store writes together.
final class ByteBudget: Sendable {
    private let limit: Int
    private let used = Mutex(0)

    init(limit: Int) { self.limit = limit }

    /// Reserves bytes. Returns `false`, and reserves nothing, if the limit would be exceeded.
    func reserve(_ count: Int) -> Bool {
        used.withLock { used in
            guard count <= limit - used else { return false }
            used += count
            return true
        }
    }

    /// Returns reserved bytes to the budget.
    func release(_ count: Int) { used.withLock { $0 -= count } }
}
