import AppStoreClients
import Base
import BridgeConfiguration
import Comparison
import Notifications
import Storage
import Telemetry
import Transport
import VerifyReceipt

/// The observable state of a running server, from which metrics, readiness and the status page are made.
struct ServerHealth: Sendable {
    /// Version of this program.
    let version: String
    let live: ReloadableState
    let requests: HTTPMetrics
    /// Counts of TLS handshakes, by ``HandshakeOutcome``.
    let handshakes: CounterTable
    /// Counts of rejected requests and connections, by ``ClientLimit``.
    let rejections: CounterTable
    let keyChecks: KeyChecks
    let waiting: CustomersToLookUp
    let store: (any Store)?
    let shadow: Shadow?
    let state: LifecycleState
    /// The counts of the last hour.
    let history: TrafficHistory
    /// Returns the number of open connections of each listener.
    let connections: @Sendable () -> (public: Int, operations: Int)
    /// Returns the circuit breaker states of the upstream hosts.
    let hosts: @Sendable () -> [CircuitBreakingTransport.HostState]
    /// Returns the present limits of deliveries in flight.
    let deliveryLimits: @Sendable () -> [Forwarder.Limit]

    /// The current configuration.
    var settings: ProxyConfiguration { live.now.settings }
    /// The certificate of the public listener; `nil` if it does not use TLS.
    var certificate: ListenerCertificate? { live.now.certificate }
    var pipelines: ServiceGraph { live.now.pipelines }

    /// A condition that an operator should check. Requests are served all the same.
    struct Warning: Sendable {
        /// A stable identifier, for example `storeNotOpen`.
        let code: String
        /// A sentence for operators. It contains nothing from requests but bundle ids that Apple signed.
        let detail: String
        /// The app that the warning concerns, or `nil`. Not part of the JSON.
        let bundleId: BundleIdentifier?
    }

    /// A store is configured but not open.
    var lacksStore: Bool { !hasStore && settings.store != nil }
    var hasStore: Bool { store?.isOpen ?? false }
    /// The store's file was removed or replaced, so only a restart opens it again.
    var isStoreLost: Bool { store?.isLost ?? false }

    /// The number of customers that need a lookup; `nil` without a store.
    var customersToLookUp: Int64? { get async { await waiting.count(in: store, of: pipelines) } }

    /// Returns the current warnings.
    ///
    /// - Parameters:
    ///   - backlog: The forwarding backlog of each app.
    ///   - waiting: The number of customers that need a lookup.
    func warnings(_ backlog: [DeliveryBacklog], _ waiting: Int64?) -> [Warning] {
        var warnings: [Warning] = []
        func warn(_ code: String, _ detail: String, of app: BundleIdentifier? = nil) {
            warnings.append(Warning(code: code, detail: detail, bundleId: app))
        }
        if lacksStore, isStoreLost {
            warn(
                "storeReplaced",
                "The store's file was removed or replaced. Nothing is stored and notifications are rejected until the "
                    + "file is restored and the server restarted.")
        } else if lacksStore {
            warn(
                "storeNotOpen",
                "The store could not be opened yet. Nothing is stored and notifications are rejected until it is open.")
        }
        if let gap = pipelines.notifications.coverage.gap {
            warn(
                "notificationsMissing",
                "Notifications from \(gap.start.iso8601) to \(gap.end.iso8601) may be missing; they are being fetched."
            )
        }
        if let waiting, waiting > 0 {
            warn(
                "customersToLookUp",
                "\(waiting) customers are being looked up again; until then Apple is asked about their receipts."
            )
        }
        if let clock = pipelines.cluster?.clock, clock.isTooLarge, let difference = clock.difference {
            warn("clockDiffersFromDatabase", "Correct the clock that is wrong: \(difference.description).")
        }
        // The same threshold as in the alert ReceiptBridgeCertificateEnds and in the doctor.
        if let days = certificate?.daysLeft(at: Timestamp.now.seconds), days < 14 {
            warn(
                "certificateEnds",
                days < 0
                    ? "The TLS certificate of the listener has expired; clients reject it."
                    : "The TLS certificate of the listener expires in \(days) days.")
        }
        for key in keyChecks.unusable(in: settings) {
            warn(
                "keyUnusable",
                "\(key.bundleId.rawValue): the private key \(key.keyId) is unusable (\(key.reason)); App Store Server API "
                    + "disabled for this app.", of: key.bundleId)
        }
        for rejection in pipelines.counts.rejectedCredentials.current
        where settings.apps.contains(where: { $0.bundleId == rejection.bundleId }) {
            warn(rejection.credential.warning, rejection.sentence, of: rejection.bundleId)
        }
        if let store, store.metrics.isFailing {
            warn("storeErrors", "\(store.metrics.errors.total) store operations failed since the start.")
        }
        if let damage = store?.metrics.lastDamage {
            warn("storeDamaged", "The store has damaged rows, which are left out: \(damage.reason).")
        }
        for row in pipelines.counts.upstream.rows where row.isFailing {
            warn(
                "upstreamFailing",
                "\(row.endpoint), \(row.environment.rawValue): \(row.asked - row.answered) of \(row.asked) requests "
                    + "got no response since the start.")
        }
        for host in hosts() where host.state != .closed {
            warn(
                "upstreamLeftAlone",
                "\(host.host): circuit breaker open; requests use the next source until the host responds again.")
        }
        for budget in pipelines.budgets {
            // Less than a tenth of the hourly budget is left.
            for level in budget.levels where level.left * 10 < level.limit {
                warn(
                    "budgetLow",
                    "\(budget.bundleId.rawValue): hourly budget low: \(level.left) of \(level.limit) calls left to "
                        + "\(level.endpoint.name), \(level.environment.rawValue).", of: budget.bundleId)
            }
        }
        for (arrivals, notice) in pipelines.unconfiguredApps {
            let count = arrivals.count == 1 ? "One receipt" : "\(arrivals.count) receipts"
            warn(
                "appNotConfigured",
                "\(count) of an app that is not configured, the last one within this hour: \(notice) "
                    + (settings.unknownApps == .refuse
                        ? "They get 21003."
                        : "No shared secret is added to them, so a subscription without a password gets 21004."))
        }
        for rollout in pipelines.rollouts.reports where rollout.phase == .stopped {
            warn(
                "rolloutStopped", "\(rollout.bundleId): \(rollout.sentence)",
                of: BundleIdentifier(rawValue: rollout.bundleId))
        }
        for row in backlog where row.abandoned > 0 {
            warn(
                "forwardingDead", "\(row.bundleId.rawValue): \(row.abandoned) notification deliveries failed for good.",
                of: row.bundleId
            )
        }
        return warnings
    }
}

extension RejectedCredentials.Credential {
    /// The code of the warning.
    fileprivate var warning: String {
        switch self {
        case .sharedSecret: "sharedSecretRejected"
        case .privateKey: "keyRejected"
        case .appAppleId: "appAppleIdContradicted"
        }
    }
}

extension RejectedCredentials.Rejection {
    fileprivate var sentence: String {
        let times = count == 1 ? "once" : "\(count) times"
        return switch credential {
        case .sharedSecret:
            "\(bundleId.rawValue): Apple has rejected the configured sharedSecret (21004) \(times). The next source answers."
        case .privateKey:
            "\(bundleId.rawValue): Apple has rejected the App Store Server API key (401) \(times). The next source answers."
        case .appAppleId:
            "\(bundleId.rawValue): an authentic receipt names another Apple ID than appAppleId (\(times)), so "
                + "notifications of production are refused."
        }
    }
}

extension UpstreamMetrics.Row {
    /// At least ten requests were sent, and more than one in ten got no response.
    fileprivate var isFailing: Bool { asked >= 10 && (asked - answered) * 10 > asked }
}
