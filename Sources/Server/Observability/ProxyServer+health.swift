import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import ReceiptBridgeTransport
import ServiceLifecycle
import Synchronization

/// The observable state of a running server, from which metrics, readiness and the status page are made.
extension ProxyServer {
    var connections: (public: Int, operations: Int) {
        (disconnectMonitor.public.count, disconnectMonitor.operations.count)
    }

    var hosts: [CircuitBreakingTransport.HostState] { upstream?.states ?? [] }
    var settings: ProxyConfiguration { live.now.settings }
    var certificate: ListenerCertificate? { live.now.certificate }
    var pipelines: ServiceGraph { live.now.pipelines }

    /// A store is configured but not open.
    var lacksStore: Bool { !hasStore && settings.store != nil }
    var hasStore: Bool { store?.isOpen ?? false }
    /// A file of the store was removed, replaced or truncated, so only a restart opens it again.
    var isStoreLost: Bool { store?.isLost ?? false }

    var customersToLookUp: Int64? { get async { await waiting.count(in: store, of: pipelines) } }

    func warnings(_ backlog: [DeliveryBacklog], _ waiting: Int64?) -> [HealthWarning] {
        storeWarnings(waiting) + appWarnings(backlog) + upstreamWarnings
    }

    private func storeWarnings(_ waiting: Int64?) -> [HealthWarning] {
        var warnings: [HealthWarning] = []
        if lacksStore { warnings.append(isStoreLost ? .storeReplaced : .storeNotOpen) }
        if let gap = pipelines.notifications.coverage.gap { warnings.append(.notificationsMissing(gap)) }
        if let waiting, waiting > 0 { warnings.append(.customersToLookUp(waiting)) }
        if let clock = pipelines.cluster?.clock, clock.isTooLarge, let difference = clock.difference {
            warnings.append(.clockDiffers(difference))
        }
        // The same threshold as in the alert ReceiptBridgeCertificateEnds and in the doctor.
        if let days = certificate?.daysLeft(at: Timestamp.now.seconds), days < 14 {
            warnings.append(.certificateEnds(days: days))
        }
        if let store, store.metrics.isFailing { warnings.append(.storeErrors(store.metrics.errors.total)) }
        if let damage = store?.metrics.lastDamage { warnings.append(.storeDamaged(damage.reason)) }
        return warnings
    }

    private func appWarnings(_ backlog: [DeliveryBacklog]) -> [HealthWarning] {
        let rejections = pipelines.counts.rejectedCredentials.current.filter { rejection in
            settings.apps.contains { $0.bundleId == rejection.bundleId }
        }
        let stopped = pipelines.rollouts.reports.filter { $0.phase == .stopped }
        return keyChecks.unusable(in: settings).map { .keyUnusable($0.keyId, of: $0.bundleId, $0.reason) }
            + (settings.hasNoApp ? [.noApp] : [])
            + rejections.map { .rejected($0.credential, of: $0.bundleId, $0.count) }
            + pipelines.unconfiguredApps.map {
                .appNotConfigured($0.arrivals.count, $0.notice, unknownApps: settings.unknownApps)
            }
            + stopped.compactMap { rollout in
                BundleIdentifier(rawValue: rollout.bundleId).map { .rolloutStopped(of: $0, rollout.sentence) }
            }
            + backlog.filter { $0.abandoned > 0 }.map { .forwardingDead($0.abandoned, of: $0.bundleId) }
    }

    private var upstreamWarnings: [HealthWarning] {
        let budgets = pipelines.budgets.flatMap { budget in
            // Less than a tenth of the hourly budget is left.
            budget.levels.filter { $0.left * 10 < $0.limit }.map { level in
                HealthWarning.budgetLow(
                    level.endpoint.name, level.environment, left: level.left, of: level.limit, for: budget.bundleId)
            }
        }
        return pipelines.counts.upstream.rows.filter(\.isFailing).map {
            .upstreamFailing($0.endpoint, $0.environment, failed: $0.asked - $0.answered, asked: $0.asked)
        } + hosts.filter { $0.state != .closed }.map { .upstreamLeftAlone($0.host) } + budgets
    }
}

extension UpstreamMetrics.Row {
    /// At least ten requests were sent, and more than one in ten got no response.
    fileprivate var isFailing: Bool { asked >= 10 && (asked - answered) * 10 > asked }
}

/// The phase of the server's life: starting, ready or draining.
package final class LifecycleState: Sendable {
    /// The phases, in their order.
    enum Phase: Int, Sendable {
        /// Not all listeners accept connections yet.
        case starting
        /// All listeners accept connections.
        case ready
        /// Shutdown has begun. Requests are still answered, but load balancers should send no more of them.
        case draining
    }

    private let value = Atomic<Int>(Phase.starting.rawValue)
    /// Time of the start on the system's monotonic clock, even if the services use another clock.
    let startedAt = ContinuousClock.now

    var phase: Phase { Phase(rawValue: value.load(ordering: .acquiring)) ?? .draining }

    /// Sets the phase to ready, when all listeners accept connections. Has no effect if shutdown has begun before.
    func setReady() {
        _ = value.compareExchange(
            expected: Phase.starting.rawValue, desired: Phase.ready.rawValue, ordering: .acquiringAndReleasing)
    }

    func setDraining() { value.store(Phase.draining.rawValue, ordering: .releasing) }
}

/// Delays a graceful shutdown. It first sets the phase to draining, so that `/readyz` fails, and lets the other
/// services stop after a delay in which load balancers notice.
struct DrainService: Service {
    let state: LifecycleState
    /// Returns the delay (`operations.drainSeconds`).
    let time: @Sendable () -> Duration
    /// Called after the delay; then the listeners close.
    let onEnd: @Sendable () -> Void

    func run() async throws {
        try? await gracefulShutdown()
        state.setDraining()
        let time = time()
        if time > .zero { try? await Task.sleep(for: time) }
        onEnd()
    }
}

/// How many customers need a lookup, see ``LookupNeed``. The store counts them at most every ten seconds.
final class CustomersToLookUp: Sendable {
    private static let interval = Duration.seconds(10).atTestSpeed()

    private let last = Mutex<(count: Int64?, at: ContinuousClock.Instant)?>(nil)

    /// Returns the count; `nil` without a store, or before the first count. Concurrent callers get the last count.
    func count(in store: (any Store)?, of pipelines: ServiceGraph) async -> Int64? {
        guard let store, store.isOpen else { return nil }
        let (isDue, known) = last.withLock { last in
            let isDue = last.map { .now - $0.at >= Self.interval } ?? true
            if isDue { last = (last?.count, .now) }
            return (isDue, last?.count)
        }
        guard isDue else { return known }
        let need = pipelines.notifications.lookupNeed
        guard let count = try? await store.reconciliations.countCustomers(with: need) else { return known }
        last.withLock { $0?.count = count }
        return count
    }
}
