import Ledger
package import Logging
package import Pipeline
package import Rendering
import ServiceLifecycle
package import StoreTypes
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

    private let lanes: [ForwardingLane]
    private let bell: Bell
    private let options: Options

    /// Nil where no app forwards, or nothing is remembered.
    package init?(
        settings: Settings, pipelines: Pipelines, transport: any HTTPTransport, tables: FieldTables, logger: Logger,
        options: Options = Options(), now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        guard let source = pipelines.forwarding else { return nil }
        let parts = ForwardingLane.Parts(
            source: source, bodies: DeliveryBodies(source: source, tables: tables), transport: transport,
            bell: pipelines.notifications.arrivals, options: options, counts: pipelines.countedApps, now: now,
            logger: logger)
        lanes = settings.apps.flatMap { app in
            zip(app.forward, app.addressees).map { ForwardingLane(target: $0, addressee: $1, parts: parts) }
        }
        guard !lanes.isEmpty else { return nil }
        bell = parts.bell
        self.options = options
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
            self.bell.ring()
        }
    }

    private func work() async {
        await withTaskGroup(of: Void.self) { group in
            for lane in lanes {
                group.addTask { await lane.watch { Task.isShuttingDownGracefully } }
                for _ in 0..<options.concurrency {
                    group.addTask { await lane.work { Task.isShuttingDownGracefully } }
                }
            }
        }
    }
}
