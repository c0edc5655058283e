import AppStore
import Ledger
import ListenerTLS
import Pipeline
import Shadowing
import StoreTypes
import Telemetry
import Transport

/// What there is to be seen of a running server: metrics, readiness and the status page are made of it.
struct ServerHealth: Sendable {
    /// Of the program.
    let version: String
    let live: ReloadableState
    let requests: HTTPMetrics
    /// By ``HandshakeOutcome``.
    let handshakes: CounterTable
    /// By ``ClientLimit``.
    let turnedAway: CounterTable
    let store: Store?
    let shadow: Shadow?
    let state: LifecycleState
    /// Open ones of each listener.
    let connections: @Sendable () -> (public: Int, operations: Int)
    /// How the hosts are doing that were asked.
    let hosts: @Sendable () -> [CircuitBreakingTransport.HostState]

    /// As they are now.
    var settings: ProxyConfiguration { live.now.settings }
    var pipelines: ServiceGraph { live.now.pipelines }

    /// Something that an operator should look at, and that keeps nobody from being answered.
    struct Warning: Sendable, Encodable {
        /// Stable.
        let code: String
        /// For people; nothing of a request is in it.
        let detail: String
        /// The app that it is about, if it is about one. It is not part of the JSON.
        let bundleId: BundleIdentifier?

        private enum CodingKeys: CodingKey {
            case code, detail
        }
    }

    /// A store that was configured and is not open.
    var lacksStore: Bool { !hasStore && settings.storePath != nil }
    var hasStore: Bool { store?.isOpen ?? false }
    /// It does not come back by itself.
    var isStoreLost: Bool { store?.isLost ?? false }

    func warnings(_ backlog: [DeliveryBacklog]) -> [Warning] {
        var warnings: [Warning] = []
        func warn(_ code: String, _ detail: String, of app: BundleIdentifier? = nil) {
            warnings.append(Warning(code: code, detail: detail, bundleId: app))
        }
        if lacksStore, isStoreLost {
            warn(
                "storeReplaced",
                "The store was taken away or replaced: nothing is remembered, and no notification is taken until it is "
                    + "put back and the server restarted.")
        } else if lacksStore {
            warn(
                "storeNotOpen",
                "The store could not be opened yet: nothing is remembered, and no notification is taken until it is.")
        }
        if let days = settings.tls?.daysLeft(at: Timestamp.now.seconds), days < 14 {
            warn(
                "certificateEnds",
                days < 0
                    ? "The listener's certificate is over; clients refuse it."
                    : "The listener's certificate ends in \(days) days.")
        }
        for key in settings.unusableKeys {
            warn(
                "keyUnusable",
                "\(key.bundleId.rawValue): the key \(key.keyId) signs nothing (\(key.reason)): the App Store Server API is "
                    + "not asked.", of: key.bundleId)
        }
        if let store, store.counts.isFailing {
            warn("storeErrors", "\(store.counts.errors.total) operations of the store failed since the start.")
        }
        for row in pipelines.counts.upstream.rows where row.isFailing {
            warn(
                "upstreamFailing",
                "\(row.endpoint), \(row.environment.rawValue): \(row.asked - row.answered) of \(row.asked) exchanges "
                    + "brought no answer since the start.")
        }
        for host in hosts() where host.state != .closed {
            warn("upstreamLeftAlone", "\(host.host) fails and is left alone for moments; others answer in its place.")
        }
        for budget in pipelines.budgets {
            for level in budget.levels where level.left * 10 < level.limit {
                warn(
                    "budgetLow",
                    "\(budget.bundleId.rawValue): \(level.left) of \(level.limit) calls an hour to "
                        + "\(level.endpoint.name), \(level.environment.rawValue), are left.", of: budget.bundleId)
            }
        }
        for row in backlog where row.abandoned > 0 {
            warn(
                "forwardingDead", "\(row.bundleId.rawValue): \(row.abandoned) notifications were given up.",
                of: row.bundleId
            )
        }
        return warnings
    }
}

extension UpstreamMetrics.Row {
    /// More than one in ten, of ten at least.
    fileprivate var isFailing: Bool { asked >= 10 && (asked - answered) * 10 > asked }
}
