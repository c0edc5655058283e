import AppStore
import Comparison
import Ledger
import Pipeline
import Reports
import StoreTypes
import Telemetry
import Transport
import Shadowing

/// The state of a running server at one moment, as the status page shows it.
struct StatusSnapshot: Sendable {
    let version: String
    let phase: LifecycleState.Phase
    let uptime: Duration
    let madeAt: Timestamp
    let warnings: [ServerHealth.Warning]
    let apps: [App]
    let latencies: [(source: String, histogram: Histogram)]
    let upstream: [UpstreamMetrics.Row]
    let hosts: [CircuitBreakingTransport.HostState]
    let budgets: [AppBudget]
    let notifications: NotificationCounts.Snapshot
    let facts: [(name: String, value: String)]

    /// The state of one app. The last entry stands for all apps that are not configured.
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
        /// Codes of the warnings that concern this app.
        let warnings: [String]

        var verdicts: Int64 { traffic.reduce(0) { $0 + $1.count } }
    }

    /// The number of verifyReceipt responses with the same status, source and environment.
    struct Traffic: Sendable {
        let status: StatusLabel
        let source: SourceLabel
        let environment: EnvironmentLabel
        let count: Int64
    }

    var verdicts: Int64 { apps.reduce(0) { $0 + $1.verdicts } }
}

extension StatusSnapshot {
    /// Takes a snapshot. Reads the store if there is one; data that cannot be read is missing from the page, and a
    /// warning reports it.
    init(_ view: ServerHealth) async {
        let counts = view.pipelines.counts
        let backlog = (try? await view.store?.deliveryBacklog()) ?? []
        let report = try? await view.shadow?.report()
        let readiness = report.map { [Readiness]($0) } ?? []
        version = view.version
        phase = view.state.phase
        uptime = .now - view.state.startedAt
        madeAt = .now
        let warnings = view.warnings(backlog)
        self.warnings = warnings
        apps = counts.labelled.compactMap { name, counts in
            App(
                name, counts, settings: view.settings.apps.first { $0.bundleId?.rawValue == name },
                backlog: backlog.first { $0.bundleId.rawValue == name },
                readiness: readiness.filter { $0.app.scope.bundleId == name },
                warnings: warnings.filter { $0.bundleId?.rawValue == name }.map(\.code))
        }
        latencies = zip(SourceLabel.allCases, counts.durations).map { ($0.text, $1) }
        upstream = counts.upstream.rows
        hosts = view.hosts()
        budgets = view.pipelines.budgets
        notifications = counts.notifications.now
        facts = Self.facts(view)
    }

    private static func facts(_ view: ServerHealth) -> [(name: String, value: String)] {
        var facts: [(name: String, value: String)] = []
        func add(_ name: String, _ value: String) { facts.append((name, value)) }
        let counts = view.pipelines.counts
        if let store = view.store, view.hasStore {
            add("Store", "open; \(store.counts.writes.count.grouped) writes on disk, \(store.writesWaiting) waiting")
        } else {
            let lack = view.isStoreLost ? "file removed or replaced; restore it and restart" : "could not be opened yet"
            add("Store", view.lacksStore ? lack : "none")
        }
        add("Receipts of apps that are not configured", view.settings.unknownApps.rawValue)
        add("Profile", view.settings.usesTolerantProfile ? "tolerant" : "apple")
        add("Record cache hits", counts.recordCache.hits)
        add("Response cache hits", counts.responseCache.hits)
        if counts.repairs.total > 0 {
            add("Rejected receipts that the tolerant profile would repair", counts.repairs.words)
        }
        if let process = ProcessFigures() {
            add("Memory", "\((process.residentBytes >> 20).grouped) MiB")
            add("CPU time", Duration.seconds(process.cpuSeconds).words)
            let limit = process.maximumFiles.map { " of \($0.grouped)" } ?? ""
            add("Open files", process.openFiles.grouped + limit)
            add("Threads", process.threads.grouped)
        }
        return facts
    }
}

extension StatusSnapshot.App {
    /// `nil` if the app is not configured and has no counts.
    fileprivate init?(
        _ name: String, _ counts: AppMetrics, settings: AppConfiguration?, backlog: DeliveryBacklog?,
        readiness: [Readiness],
        warnings: [String]
    ) {
        self.name = name
        sources = settings?.answer ?? []
        shadow = settings?.shadow
        traffic = StatusLabel.allCases.flatMap { status in
            SourceLabel.allCases.flatMap { source in
                EnvironmentLabel.allCases.compactMap { environment in
                    let count = counts.verdicts.count(status.rawValue, source.rawValue, environment.rawValue)
                    guard count > 0 else { return nil }
                    return StatusSnapshot.Traffic(
                        status: status, source: source, environment: environment, count: count)
                }
            }
        }
        revocations = counts.revocations.total
        deliveries = DeliveryLabel.allCases.map { ($0.text, counts.deliveries.count($0.rawValue)) }
        self.backlog = backlog
        self.readiness = readiness
        self.warnings = warnings
        if settings == nil, counts.verdicts.total == 0, backlog == nil { return nil }
    }
}

extension CounterTable {
    /// Cache hits of a table by ``HitLabel``, for example `12 of 40`.
    fileprivate var hits: String { "\(count(HitLabel.hit.rawValue).grouped) of \(total.grouped)" }
}
