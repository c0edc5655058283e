package import ReceiptBridgeBase
package import Logging
import ServiceLifecycle
package import ReceiptBridgeStorage
import ReceiptBridgeCore
import ReceiptBridgeReceipts

/// Clears this process's in-memory caches of customer data after any process has erased a customer from the store.
///
/// The store does not record which customer was erased, so the caches of all customers are cleared. They are filled
/// from the store again when the data is needed.
struct ErasureMonitor: Service {
    let store: any Store
    let live: ReloadableState
    let shadow: Shadow?
    let logger: Logger

    private static let pause = Duration.seconds(5).atTestSpeed()

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var last = try? await store.personalData.lastErasure()
            var isLogged = false
            while (try? await Task.sleep(for: Self.pause)) != nil {
                do throws(StorageError) {
                    let now = try await store.personalData.lastErasure()
                    isLogged = false
                    guard now != last else { continue }
                    try await live.now.pipelines.invalidateErasedCustomers(in: store)
                    shadow?.removePairs()
                    last = now
                    logger.notice("customer data was erased from the store; in-memory caches cleared")
                } catch {
                    // The process was asked to stop during the read.
                    guard !Task.isCancelled else { return }
                    // If the store is not open (yet), the code that opens it logs that. Each failure is logged once,
                    // until a check succeeds.
                    if !isLogged, store.isOpen {
                        logger.error(
                            "cannot check the store for erased customers; will retry", metadata: ["reason": "\(error)"])
                        isLogged = true
                    }
                }
            }
        }
    }
}

/// Finds out whether purchases were refunded after Apple asked about them, see `RefundDecisions`: first a minute after
/// the start, then every five minutes. Of several servers with the same store, one does it.
struct ConsumptionMonitor: Service {
    let store: any Store
    let live: ReloadableState
    let logger: Logger

    /// Delay of the first run, and the time between two runs.
    private static let (startDelay, pause) = (Duration.seconds(60).atTestSpeed(), Duration.seconds(300).atTestSpeed())

    func run() async throws {
        try await PeriodicService(delay: Self.startDelay) {
            await settle()
            return Self.pause
        }.run()
    }

    private func settle() async {
        // Without a store there is nothing to do; the code that opens it logs failures.
        guard store.isOpen, let decisions = live.now.pipelines.operations.refundDecisions else { return }
        do throws(StorageError) {
            let settled = try await TaskLease.whileHolding(.refundDecisions, in: store.leases) {
                isHeld throws(StorageError) in
                try await decisions.settle { await isHeld() && !Task.isCancelled }
            }
            guard let settled, !settled.isEmpty else { return }
            logger.notice(
                "refund decisions: purchases were looked at 48 hours after Apple asked about them",
                metadata: .init(
                    uniqueKeysWithValues: settled.map {
                        ($0.key.rawValue, Logger.MetadataValue.stringConvertible($0.value))
                    })
            )
        } catch {
            guard !Task.isCancelled else { return }
            logger.error(
                "refund decisions cannot be stored; will retry in five minutes", metadata: ["reason": "\(error)"])
        }
    }
}

/// Adds the account tokens of transactions that an earlier version stored, so that their customers are found by them.
/// Does nothing once all are added.
package struct AccountTokenMonitor: Service {
    let store: any Store
    let logger: Logger

    package init(store: any Store, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    private static let pageSize = 500
    /// Delay of the start, the pause between two pages, and the pause after a failure and after the last page. A server
    /// of an earlier version with the same store can add transactions without a token.
    private static let (startDelay, pause, idle) = (
        Duration.seconds(30).atTestSpeed(), Duration.milliseconds(100), Duration.seconds(600).atTestSpeed()
    )

    package func run() async throws {
        try await PeriodicService(delay: Self.startDelay) {
            let hasMore = store.isOpen ? await addPage() : false
            return hasMore ? Self.pause : Self.idle
        }.run()
    }

    /// Adds the tokens of one page. Returns whether there may be more.
    package func addPage() async -> Bool {
        do throws(StorageError) {
            let page = try await store.customers.transactionsWithoutToken(limit: Self.pageSize)
            guard !page.isEmpty else { return false }
            try await store.customers.addTokens(
                page.map { row in
                    (row.id, Signed<TransactionPayload>(storedText: row.text)?.payload.storedAccountToken ?? "")
                })
            guard page.count == Self.pageSize else { return false }
            // A page that comes again was not changed, because the store is damaged.
            return try await store.customers.transactionsWithoutToken(limit: 1).first?.id != page.first?.id
        } catch {
            guard !Task.isCancelled else { return false }
            logger.error("account tokens cannot be added to the store; will retry", metadata: ["reason": "\(error)"])
            return false
        }
    }
}

/// Runs work again and again until the server shuts down, and cancels it then.
struct PeriodicService: Service {
    /// The time before the first run.
    var delay = Duration.zero
    /// Returns the time until the next run.
    let work: @Sendable () async -> Duration

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var pause = delay
            while (try? await Task.sleep(for: pause)) != nil { pause = await work() }
        }
    }
}

/// Deletes rows from the store whose retention time has passed: first a minute after the start, then every hour. Of
/// several servers with the same store, one does it.
package struct RetentionService: Service {
    private let store: any PersonalDataStore
    private let leases: any LeaseStore
    private let retention: @Sendable () -> Retention
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Delay of the first run, which leaves the store to the other services while they start.
    private static let startDelay = Duration.seconds(60)
    private static let pause = Duration.hours(1)
    /// Retention uses at most one tenth of the store writer's time: after each batch of deletions it sleeps nine
    /// times as long as the batch took.
    private static let writerShare = 10
    private static let minimumPause = Duration.milliseconds(50)

    /// - Parameters:
    ///   - retention: Read before each run, so a reload takes effect.
    ///   - sleep: Throws when the process is asked to stop.
    package init(
        store: any PersonalDataStore, leases: any LeaseStore, retention: @escaping @Sendable () -> Retention,
        logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        (self.store, self.leases, self.retention) = (store, leases, retention)
        (self.logger, self.now, self.sleep) = (logger, now, sleep)
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            do {
                try await sleep(Self.startDelay)
                while true {
                    await sweep()
                    try await sleep(Self.pause)
                }
            } catch {
                // The process was asked to stop.
            }
        }
    }

    private func sweep() async {
        do throws(StorageError) {
            let deleted = try await TaskLease.whileHolding(.retention, in: leases) {
                isHeld throws(StorageError) -> [Erasure.Kind] in
                if let doubt = try await store.doubt(about: now()) {
                    logger.error("retention skipped: the clock may be wrong", metadata: ["reason": "\(doubt)"])
                    return []
                }
                return try await store.expire(retention(), at: now()) { time in
                    guard (try? await sleep(max(Self.minimumPause, time * (Self.writerShare - 1)))) != nil else {
                        return false
                    }
                    return await isHeld()
                }
            }
            guard let deleted, !deleted.isEmpty else { return }
            let counts = deleted.map { ($0.name, Logger.MetadataValue.stringConvertible($0.count)) }
            logger.notice("retention: deleted expired rows", metadata: .init(uniqueKeysWithValues: counts))
        } catch {
            guard !Task.isCancelled else { return logger.info("retention stopped before its end") }
            logger.error("retention run failed; will retry in an hour", metadata: ["reason": "\(error)"])
        }
    }
}
