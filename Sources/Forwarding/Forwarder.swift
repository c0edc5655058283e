import Ledger
package import Logging
package import Pipeline
package import Rendering
import ServiceLifecycle
package import StoreTypes
import Synchronization
package import Transport

/// Sends genuine notifications on to the targets that apps name in `forward`, each at least once.
///
/// What is to be sent stands in the store since the notification was stored; whatever happens to this process, the next one
/// goes on. Payloads and secrets are never logged.
package final class Forwarder: Service {
    /// How it goes about it.
    package struct Options: Sendable {
        package var schedule = DeliverySchedule()
        /// Deliveries to one target at the same time.
        package var concurrency = 4
        /// Of one exchange.
        package var timeout = DeliveryRequest.timeout
        /// How long at most until what is due is seen: other processes queue, too.
        package var poll = Duration.seconds(1)
        /// For what is under way when the process is to end.
        package var grace = Duration.seconds(5)

        package init() {}
    }

    /// The lanes of one configuration, and which one that is.
    private struct Plan: Sendable {
        var workers: [DeliveryWorker]
        var number = 0
    }

    private let plan: Mutex<Plan>
    private let wakeUp: AsyncSignal
    private let options: Options
    private let transport: any HTTPTransport
    private let tables: FieldTables
    private let logger: Logger
    private let now: @Sendable () -> Timestamp

    /// Nil where nothing is remembered. Where no app forwards it waits for a configuration in which one does.
    package init?(
        settings: ProxyConfiguration, pipelines: ServiceGraph, transport: any HTTPTransport, tables: FieldTables,
        logger: Logger,
        options: Options = Options(), now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        guard pipelines.forwarding != nil else { return nil }
        plan = Mutex(Plan(workers: []))
        wakeUp = pipelines.notifications.arrivals
        self.options = options
        self.transport = transport
        self.tables = tables
        self.logger = logger
        self.now = now
        apply(settings, pipelines)
    }

    /// From now on these targets are sent to. What is under way to the former ones is finished first.
    package func apply(_ settings: ProxyConfiguration, _ pipelines: ServiceGraph) {
        guard let source = pipelines.forwarding else { return }
        let parts = DeliveryWorker.Dependencies(
            source: source, bodies: DeliveryBodies(source: source, tables: tables), transport: transport,
            wakeUp: wakeUp,
            options: options, counts: pipelines.countedApps, now: now, logger: logger)
        let workers = settings.apps.flatMap { app in
            zip(app.forward, app.targetKeys).map { DeliveryWorker(target: $0, targetKey: $1, parts: parts) }
        }
        plan.withLock { $0 = Plan(workers: workers, number: $0.number + 1) }
        wakeUp.signal()
    }

    /// Until the process is asked to stop; what is under way then has a few seconds.
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

    private func work() async {
        while true {
            // First the bell: else a plan, or the end, that comes in between is slept through.
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

    /// Until there is another plan.
    private func work(by plan: Plan) async {
        let isOver: @Sendable () -> Bool = {
            Task.isShuttingDownGracefully || self.plan.withLock { $0.number } != plan.number
        }
        await withTaskGroup(of: Void.self) { group in
            for worker in plan.workers {
                group.addTask { await worker.watch(until: isOver) }
                for _ in 0..<options.concurrency {
                    group.addTask { await worker.work(until: isOver) }
                }
            }
        }
    }
}
