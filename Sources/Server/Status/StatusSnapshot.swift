import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import ReceiptBridgeTransport

/// The state of a running server at one moment, as the status page shows it.
struct StatusSnapshot: Sendable {
    let version: String
    let phase: LifecycleState.Phase
    let uptime: Duration
    let createdAt: Timestamp
    /// The counts since the start, and those of the last hour.
    let total: TrafficSample
    let trend: TrafficHistory.Trend
    let warnings: [HealthWarning]
    let apps: [App]
    let latencies: [(source: String, histogram: Histogram)]
    let upstream: [UpstreamMetrics.Row]
    let hosts: [CircuitBreakingTransport.HostState]
    let budgets: [AppBudget]
    let notifications: [(name: String, value: String)]
    let facts: [(name: String, value: String)]

    /// The state of an app that is configured or has counts. The last one stands for all apps that are not configured.
    struct App: Sendable {
        let name: String
        /// The sources in the order of `answer:`; empty for apps that are not configured.
        let sources: [AnswerSource]
        let shadow: AnswerSource?
        let traffic: [Traffic]
        let revocations: Int64
        let deliveries: [(outcome: String, count: Int64)]
        let backlog: DeliveryBacklog?
        /// The results of background comparisons, by environment.
        let readiness: [Readiness]
        /// The gradual switch to another source; `nil` if there is none.
        let rollout: RolloutReport?
        /// Codes of the warnings that concern this app.
        let warnings: [String]

        var verdicts: Int64 { traffic.reduce(0) { $0 + $1.count } }
    }

    /// The number of verifyReceipt responses with the same status, source and environment.
    struct Traffic: Sendable {
        let status: StatusLabel
        let source: AnswerSource
        let environment: AppStoreEnvironment
        let count: Int64
    }

    var verdicts: Int64 { apps.reduce(0) { $0 + $1.verdicts } }
}

extension StatusSnapshot {
    /// Takes a snapshot. Reads the store if there is one; data that cannot be read is missing from the page, and a
    /// warning reports it.
    init(_ server: ProxyServer) async {
        let counts = server.pipelines.counts
        let backlog = (try? await server.store?.outbox.deliveryBacklog()) ?? []
        let report = try? await server.shadow?.report()
        let readiness = report.map { [Readiness]($0) } ?? []
        let rollouts = server.pipelines.rollouts.reports
        version = server.version
        phase = server.state.phase
        uptime = .now - server.state.startedAt
        createdAt = .now
        total = TrafficSample(of: server.pipelines, age: uptime)
        trend = server.history.trend(until: total)
        let waiting = await server.customersToLookUp
        let warnings = server.warnings(backlog, waiting)
        self.warnings = warnings
        let settings = Dictionary(grouping: server.settings.apps) { $0.bundleId?.rawValue }
        let backlogs = Dictionary(grouping: backlog, by: \.bundleId.rawValue)
        let results = Dictionary(grouping: readiness, by: \.app.scope.bundleId)
        let switches = Dictionary(grouping: rollouts, by: \.bundleId)
        let concerns = Dictionary(grouping: warnings) { $0.bundleId?.rawValue }
        apps = counts.labelled.compactMap { name, counts in
            let (settings, backlog) = (settings[name]?.first, backlogs[name]?.first)
            if settings == nil, counts.verdicts.total == 0, backlog == nil { return nil }
            return App(
                name: name, sources: settings?.answer ?? [], shadow: settings?.shadow, traffic: counts.traffic,
                revocations: counts.revocations.total,
                deliveries: DeliveryLabel.allCases.map { ($0.text, counts.deliveries.count($0)) }, backlog: backlog,
                readiness: results[name] ?? [], rollout: switches[name]?.first,
                warnings: concerns[name]?.map(\.code.rawValue) ?? [])
        }
        latencies = zip(AnswerSource.allCases, counts.durations).map { ($0.text, $1) }
        upstream = counts.upstream.rows
        hosts = server.hosts
        budgets = server.pipelines.budgets
        notifications = Self.notifications(server.pipelines)
        let reconciliation = try? await server.store?.reconciliations.lastReconciliation()
        facts =
            Self.facts(server) + (waiting.map { [("Customers to look up", $0.grouped)] } ?? [])
            + Self.facts(server.settings, reconciliation ?? nil, budgets)
    }

    private static func notifications(_ pipelines: ServiceGraph) -> [(name: String, value: String)] {
        let (accepted, dropped) = (
            pipelines.counts.notifications, pipelines.counts.events.count(MetricEvent.droppedHints)
        )
        return [
            ("Stored", accepted.count(NotificationLabel.stored).grouped),
            ("Duplicates", accepted.count(NotificationLabel.repeated).grouped),
        ] + pipelines.notifications.rejections.counted.map { ("Rejected: \($0[0])", $1.grouped) }
            + (dropped > 0 ? [("Lookups dropped", dropped.grouped)] : [])
    }

    /// Returns the facts about the daily reconciliation; none if it is off.
    private static func facts(
        _ settings: ProxyConfiguration, _ last: ReconciliationRow?, _ budgets: [AppBudget]
    ) -> [(name: String, value: String)] {
        guard settings.reconcile != nil else { return [] }
        guard let last else { return [("Last reconciliation", "none yet")] }
        let counts =
            "\(last.customers.grouped) customers looked up, \(last.different.grouped) differed, "
            + "\(last.refunds.grouped) unknown refunds, \(last.failed.grouped) failed"
        if last.isFinished { return [("Last reconciliation", "ended \(last.endedAt?.displayText ?? ""): \(counts)")] }
        let reason =
            last.continuesAt.map { ["calls to the App Store fail, continues at \($0.displayText)"] }
            ?? budgets.compactMap(\.waits)
        let state = (["began \(last.startedAt.displayText), not ended yet"] + reason).joined(separator: "; ")
        return [("Last reconciliation", "\(state): \(counts)")]
    }

    /// Returns the facts about the process and its store.
    private static func facts(_ server: ProxyServer) -> [(name: String, value: String)] {
        var facts: [(name: String, value: String)] = []
        func add(_ name: String, _ value: String) { facts.append((name, value)) }
        let counts = server.pipelines.counts
        if let store = server.store, server.hasStore {
            add("Store", "open; \(store.metrics.writes.count.grouped) writes on disk, \(store.writesWaiting) waiting")
        } else {
            let lack =
                server.isStoreLost
                ? "file removed, replaced or truncated; restore it and restart" : "could not be opened yet"
            add("Store", server.lacksStore ? lack : "none")
        }
        if let cluster = server.pipelines.cluster {
            let servers = Int64(cluster.servers).grouped
            add("Servers with this store", "\(servers); this one is \(server.settings.instanceName)")
            if let difference = cluster.clock.difference { add("Clock", difference.description) }
        }
        add("Receipts of apps that are not configured", server.settings.unknownApps.rawValue)
        add("Profile", server.settings.usesTolerantProfile ? "tolerant" : "apple")
        add("Record cache hits", counts.recordCache.hits)
        add("Response cache hits", counts.responseCache.hits)
        if counts.repairs.total > 0 {
            add("Rejected receipts that the tolerant profile would repair", counts.repairs.words)
        }
        if let process = ProcessFigures() {
            add("Memory", "\((process.residentBytes >> 20).grouped) MiB")
            add("CPU time", Duration.seconds(process.cpuSeconds).displayText)
            let limit = process.maximumFiles.map { " of \($0.grouped)" } ?? ""
            add("Open files", process.openFiles.grouped + limit)
            add("Threads", process.threads.grouped)
        }
        return facts
    }
}

extension AppBudget {
    /// The limits that calls wait for, for example `com.example.app waits 12 s for refund history, Sandbox`; `nil` if
    /// none waits.
    var waits: String? {
        let waits = levels.compactMap { level in
            level.wait.map { "\($0.displayText) for \(level.endpoint.name), \(level.environment.rawValue)" }
        }
        return waits.isEmpty ? nil : "\(bundleId) waits " + waits.joined(separator: " and ")
    }
}

extension AppMetrics {
    /// The responses of the app, without those that did not occur.
    var traffic: [StatusSnapshot.Traffic] {
        StatusLabel.allCases.flatMap { status in
            AnswerSource.allCases.flatMap { source in
                AppStoreEnvironment.allCases.compactMap { environment in
                    let count = verdicts.count(status, source, environment)
                    guard count > 0 else { return nil }
                    return StatusSnapshot.Traffic(
                        status: status, source: source, environment: environment, count: count)
                }
            }
        }
    }
}

extension CounterTable {
    /// Cache hits of a table by ``HitLabel``, for example `12 of 40`.
    fileprivate var hits: String { "\(count(HitLabel.hit).grouped) of \(total.grouped)" }
}

extension StatusSnapshot {
    /// The responses of all apps together.
    var traffic: [Traffic] {
        Dictionary(grouping: apps.flatMap(\.traffic), by: \.kind).values.compactMap { rows in
            rows.first.map {
                Traffic(
                    status: $0.status, source: $0.source, environment: $0.environment,
                    count: rows.reduce(0) { $0 + $1.count })
            }
        }
    }
}

extension StatusSnapshot.Traffic {
    /// The status, source and environment: everything except the count.
    fileprivate var kind: [Int] { [status.index, source.index, environment.index] }

    var isGenuine: Bool { ["0", "21006"].contains(status.text) }
    var isRefused: Bool { ["21002", "21003"].contains(status.text) }
    /// Returns whether the response asks the client to retry.
    var isRetry: Bool { ["21005", "21009", "211xx"].contains(status.text) }
}

extension [StatusSnapshot.Traffic] {
    func count(_ isIncluded: (StatusSnapshot.Traffic) -> Bool) -> Int64 {
        reduce(0) { $0 + (isIncluded($1) ? $1.count : 0) }
    }

    /// Sorted by count, the most frequent first.
    var byCount: Self {
        sorted { $0.count == $1.count ? $0.kind.lexicographicallyPrecedes($1.kind) : $0.count > $1.count }
    }
}

extension StatusSnapshot.App {
    /// A phrase for each warning code that concerns a single app.
    private static let words = [
        "keyUnusable": "its private key is unusable", "keyRejected": "Apple rejects its private key",
        "sharedSecretRejected": "Apple rejects its shared secret",
        "appAppleIdContradicted": "its receipts name another Apple ID than appAppleId",
        "budgetLow": "the hourly budget of calls is low",
        "forwardingDead": "notification deliveries failed for good",
        "rolloutStopped": "the gradual switch to another source has stopped",
    ]

    /// The reasons why an operator should check this app, one phrase each.
    var concerns: [String] {
        var concerns: [String] = []
        let retries = traffic.count(\.isRetry)
        // The same threshold of 5 % as in the alert ReceiptBridgeNoAnswers.
        if retries * 20 > verdicts {
            concerns.append("\(retries.part(of: verdicts)) of the responses are “try again”")
        }
        if readiness.contains(where: { $0.verdict == .notSafe }) { concerns.append("sources differ unexpectedly") }
        return concerns + Self.words.keys.sorted().filter(warnings.contains).compactMap { Self.words[$0] }
    }
}
