package import ReceiptBridgeBase
package import Logging
package import ReceiptBridgeResponses
import ServiceLifecycle
import ReceiptBridgeStorage
import Synchronization
package import ReceiptBridgeTransport

/// Forwards authentic notifications to the targets that apps configure in `forward`, each at least once.
///
/// The store is the outbox: a delivery is queued in the same transaction that stores its notification, so that
/// another process can continue after a crash. Payloads and secrets are never logged.
package final class Forwarder: Service {
    package struct Options: Sendable {
        package var schedule = DeliverySchedule()
        /// Timeout of one exchange.
        package var timeout = DeliveryRequest.timeout
        /// Maximum time until a due delivery is found. Polling is needed because other processes queue deliveries
        /// too.
        package var poll = Duration.seconds(1).atTestSpeed(atLeast: .milliseconds(50))
        /// Minimum time between two searches for due deliveries, however many notifications arrive.
        var pollPause = Duration.milliseconds(20)
        /// Time between two renewals of the leases of deliveries.
        package var renewal = DeliveryLease.renewalInterval
        /// Time for deliveries in flight when the process shuts down.
        package var grace = Duration.seconds(5)

        package init() {}
    }

    /// How many deliveries may be in flight to the targets of an app at one host, in one form.
    package struct Limit: Sendable {
        package let bundleId: BundleIdentifier
        package let host: String
        package let form: ForwardTarget.Form
        package var deliveries: Int
    }

    /// The workers of one configuration, and its number.
    private struct Plan: Sendable {
        var workers: [DeliveryWorker]
        let outbox: any DeliveryOutbox
        var generation = 0
    }

    private let plan: Mutex<Plan>
    private let wakeUp: AsyncSignal
    private let options: Options
    private let transport: any HTTPTransport
    private let tables: FieldTables
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    private let instant: @Sendable () -> ContinuousClock.Instant
    private let logThrottle = LogThrottle<String>()

    /// `nil` without a store, and so without a context.
    package init?(
        settings: ProxyConfiguration, context: ForwardingContext?, transport: any HTTPTransport, tables: FieldTables,
        logger: Logger,
        options: Options = Options(), now: @escaping @Sendable () -> Timestamp = { .now },
        instant: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        guard let context else { return nil }
        plan = Mutex(Plan(workers: [], outbox: context.store.outbox))
        wakeUp = context.arrivals
        (self.options, self.transport, self.tables) = (options, transport, tables)
        (self.logger, self.now, self.instant) = (logger, now, instant)
        apply(settings, context)
    }

    /// Replaces the targets after a reload. Deliveries in flight to the previous targets are finished first.
    package func apply(_ settings: ProxyConfiguration, _ context: ForwardingContext) {
        let dependencies = DeliveryWorker.Dependencies(
            source: context, bodies: DeliveryBodies(source: context, tables: tables), transport: transport,
            options: options, counts: context.counts, now: now, instant: instant, logger: logger)
        let workers = settings.apps.flatMap { app in
            zip(app.forward, app.targetKeys).map {
                DeliveryWorker(target: $0, targetKey: $1, dependencies: dependencies)
            }
        }
        plan.withLock {
            $0 = Plan(workers: workers, outbox: context.store.outbox, generation: $0.generation + 1)
        }
        wakeUp.signal()
    }

    /// The present limits, in the order of the configuration.
    package var limits: [Limit] {
        plan.withLock(\.workers).reduce(into: []) { limits, worker in
            let limit = worker.limit
            let place = limits.firstIndex {
                ($0.bundleId, $0.host, $0.form) == (limit.bundleId, limit.host, limit.form)
            }
            if let place { limits[place].deliveries += limit.deliveries } else { limits.append(limit) }
        }
    }

    /// Runs until the process shuts down; deliveries in flight then have ``Options/grace``.
    package func run() async throws {
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.work() }
                group.addTask {
                    try? await gracefulShutdown()
                    try? await Task.sleep(for: self.options.grace)
                }
                await group.next()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.wakeUp.signal()
        }
    }

    /// Runs the current plan, and the next one after each reload.
    private func work() async {
        while true {
            // Read the number of signals first. Otherwise, a new plan or a shutdown between the check and the wait
            // would go unnoticed.
            let signals = wakeUp.signals
            guard !Task.isCancelled, !Task.isShuttingDownGracefully else { return }
            let plan = plan.withLock { $0 }
            guard !plan.workers.isEmpty else {
                await wakeUp.wait(after: signals, atMost: .seconds(60))
                continue
            }
            await work(by: plan)
        }
    }

    private func work(by plan: Plan) async {
        let isReplaced: @Sendable () -> Bool = {
            Task.isShuttingDownGracefully || self.plan.withLock { $0.generation } != plan.generation
        }
        await withTaskGroup(of: Void.self) { group in
            for worker in plan.workers {
                group.addTask { await worker.run(until: isReplaced) }
            }
            while !Task.isCancelled, !isReplaced() {
                let signals = wakeUp.signals
                await wake(plan)
                try? await Task.sleep(for: options.pollPause)
                await wakeUp.wait(after: signals, atMost: options.poll)
            }
            for worker in plan.workers { worker.wakeUp.signal() }
        }
    }

    /// One query finds all workers with due deliveries, so that thousands of targets without one cost nothing.
    private func wake(_ plan: Plan) async {
        // The only worker searches itself.
        guard plan.workers.count > 1 else { return plan.workers.forEach { $0.wakeUp.signal() } }
        do throws(StorageError) {
            let due = try await plan.outbox.dueTargets(at: now())
            for worker in plan.workers where due.contains(worker.targetKey) { worker.wakeUp.signal() }
        } catch {
            guard logThrottle.allows("outbox", at: now().sinceEpoch) else { return }
            logger.warning(
                "cannot read due deliveries from the store; will retry", metadata: ["reason": "\(error.code.rawValue)"])
        }
    }
}
