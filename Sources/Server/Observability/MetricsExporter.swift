import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import ReceiptBridgeTransport

/// All metrics of the server in the Prometheus text format.
struct MetricsExporter: Sendable {
    let server: ProxyServer

    private var pipelines: ServiceGraph { server.pipelines }

    /// Returns the metrics as UTF-8.
    func text() async -> [UInt8] {
        // If the store cannot be read, the backlog is missing; other metrics report the failure.
        let backlog = (try? await server.store?.outbox.deliveryBacklog()) ?? []
        let requests = (try? await server.store?.consumption.openConsumptionRequests(since: openSince)) ?? []
        let reconciliation = try? await server.store?.reconciliations.lastReconciliation()
        var text = MetricsText()
        text.family(.buildInfo, of: [server.version]) { ([$0], 1) }
        text.single(.ready, server.state.phase == .ready ? 1 : 0)
        server.requests.write(into: &text)
        let (atPublic, atOperations) = server.connections
        text.family(.httpConnections, of: [("public", atPublic), ("operations", atOperations)]) { ([$0], $1) }
        text.family(.rejectedClients, of: server.clients.rejections)
        text.family(.handshakes, of: server.handshakes)
        text.single(.certificateExpiry, server.certificate?.validity.upperBound)
        writeVerdicts(into: &text)
        text.family(.leftOutMembers, of: pipelines.counts.leftOut)
        pipelines.counts.upstream.write(into: &text)
        writeHosts(into: &text)
        writeBudgets(into: &text)
        text.family(.notifications, of: pipelines.counts.notifications)
        text.family(.rejectedNotifications, of: pipelines.notifications.rejections)
        writeForwarding(backlog, into: &text)
        writeOperations(requests, into: &text)
        text.single(.reconciliationEnd, server.settings.reconcile == nil ? nil : reconciliation?.endedAt?.seconds ?? 0)
        text.single(.customersToLookUp, await server.customersToLookUp)
        writeShadow(into: &text)
        writeRollouts(into: &text)
        writeStore(into: &text)
        let difference = pipelines.cluster?.clock.difference
        text.single(.storeClockDifference, difference.map { Double($0.duration.inMilliseconds) / 1_000 })
        text.single(.droppedLogLines, NonBlockingLogOutput.standardError.dropped)
        ProcessFigures()?.write(into: &text)
        text.families(of: pipelines.counts.events)
        return text.bytes
    }

    // MARK: - Families

    /// verifyReceipt responses, and the caches behind them.
    private func writeVerdicts(into text: inout MetricsText) {
        let counts = pipelines.counts
        family(.responses, of: \.verdicts, into: &text)
        text.family(.responseDurations)
        for (source, histogram) in zip(AnswerSource.texts, counts.durations) {
            text.samples(.responseDurations, [source], of: histogram)
        }
        text.family(.authenticationFailures, of: counts.failuresByVerdict) { ([$0.reason, $0.verdict], $0.count) }
        text.family(.repairs, of: counts.repairs)
        family(.revocations, of: \.revocations, into: &text)
        text.family(.denialConfirmations, of: counts.confirmations)
        text.family(.recordCache, of: counts.recordCache)
        text.family(.responseCache, of: counts.responseCache)
    }

    /// Host labels come only from the configuration, so their number is bounded.
    private func writeHosts(into text: inout MetricsText) {
        let hosts = server.hosts
        text.family(.circuitOpen, of: hosts) { ([$0.host], $0.state == .closed ? 0 : 1) }
        text.family(.circuitOpened, of: hosts) { ([$0.host], $0.opened) }
        text.family(.upstreamInFlight, of: hosts) { ([$0.host], $0.inFlight) }
        text.family(.upstreamRefused)
        for host in hosts {
            text.sample(.upstreamRefused, [host.host, "circuitOpen"], host.refused)
            text.sample(.upstreamRefused, [host.host, "tooManyRepetitions"], host.rejectedRetries)
        }
    }

    /// Call budgets of the App Store Server API, by app, endpoint and environment.
    private func writeBudgets(into text: inout MetricsText) {
        let levels = pipelines.budgets.flatMap { budget in
            budget.levels.map {
                (labels: [budget.bundleId.rawValue, $0.endpoint.name, $0.environment.rawValue], level: $0)
            }
        }
        text.family(.callsLeft, of: levels) { ($0.labels, $0.level.left) }
        text.family(.callsPerHour, of: levels) { ($0.labels, $0.level.limit) }
    }

    private func writeForwarding(_ backlog: [DeliveryBacklog], into text: inout MetricsText) {
        family(.deliveries, of: \.deliveries, into: &text)
        text.family(.deliveriesWaiting, of: backlog) { ([$0.bundleId.rawValue], $0.waiting) }
        text.family(.deliveriesDead, of: backlog) { ([$0.bundleId.rawValue], $0.abandoned) }
        text.family(.deliveryLimit, of: server.forwarder?.limits ?? []) {
            ([$0.bundleId.rawValue, $0.host, $0.form.rawValue], $0.deliveries)
        }
    }

    /// What support teams ask for.
    private func writeOperations(_ requests: [OpenConsumptionRequests], into text: inout MetricsText) {
        func labels(_ row: OpenConsumptionRequests) -> [String] {
            [row.scope.bundleId.rawValue, row.scope.environment.rawValue]
        }
        text.family(.consumptionOpen, of: requests) { (labels($0), $0.count) }
        text.family(.consumptionDeadline, of: requests) {
            (labels($0), ConsumptionDeadline(requestedAt: $0.oldest).end.seconds)
        }
        family(.refundDecisions, of: \.refundDecisions, into: &text)
    }

    /// Apple's requests since this time can still be answered.
    private var openSince: Timestamp { ConsumptionDeadline.oldestOpen(at: pipelines.operations.now) }

    /// Background comparisons.
    private func writeShadow(into text: inout MetricsText) {
        family(.comparisons, of: \.comparisons, into: &text)
        family(.differences, of: \.differences, into: &text)
        text.single(.comparisonsWaiting, server.shadow?.waiting ?? 0)
    }

    /// Gradual switches to another source.
    private func writeRollouts(into text: inout MetricsText) {
        let rollouts = pipelines.rollouts.reports
        text.family(.rolloutShare, of: rollouts) { ([$0.bundleId], $0.share / 100) }
        text.family(.rolloutStopped, of: rollouts) { ([$0.bundleId], $0.phase == .stopped ? 1 : 0) }
        text.family(.rolloutCustomers)
        for rollout in rollouts {
            text.sample(.rolloutCustomers, [rollout.bundleId, "equal"], rollout.compared - rollout.different)
            text.sample(.rolloutCustomers, [rollout.bundleId, "different"], rollout.different)
        }
        family(.rolloutResponses, of: \.rolloutResponses, into: &text)
    }

    private func writeStore(into text: inout MetricsText) {
        text.single(.storeOpen, server.settings.store == nil ? nil : server.hasStore ? 1 : 0)
        guard let store = server.store else { return }
        text.single(.storeWritesWaiting, store.writesWaiting)
        text.single(.storeWrites, store.metrics.writes.count)
        text.family(.storeErrors, of: store.metrics.errors)
    }

    /// Writes the family with the samples of one counter table of every app.
    private func family(
        _ family: MetricFamily, of table: KeyPath<AppMetrics, CounterTable>, into text: inout MetricsText
    ) {
        text.family(family)
        for (app, counts) in pipelines.counts.labelled { text.samples(family, [app], of: counts[keyPath: table]) }
    }
}

/// The routes of both listeners as metric labels; `other` is every request without a route.
enum RouteLabel {
    /// The last label stands for all other paths.
    static let all = [
        "/verifyReceipt", "/WebObjects/MZFinance.woa/wa/verifyReceipt", "/production/verifyReceipt",
        "/sandbox/verifyReceipt", "/v1/receipts", "/v1/transactions/{id}", "/v1/transactions/{id}/appAccountToken",
        "/v1/orders/{orderId}", "/v1/customers", "/v1/consumption/{transactionId}", "/v1/notifications",
        "/v1/notifications/{uuid}", "/healthz", "/readyz", "/metrics", "/openapi.json", "/", "/comparisons",
        "/customers", "other",
    ]
    private static let indexes = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1, $0) })

    static func index(of path: String?) -> Int { path.flatMap { indexes[$0] } ?? all.count - 1 }
}

/// HTTP statuses as metric labels: the ones that this server sends, and `other`.
struct HTTPStatusLabel: MetricLabel {
    /// A fixed list, so that the number of time series is bounded.
    private static let codes = [
        200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 417, 422, 429, 431, 499, 500, 501, 502, 503, 504,
    ]

    let index: Int

    init(code: Int) { self.init(index: Self.codes.firstIndex(of: code) ?? Self.codes.count) }

    private init(index: Int) { self.index = index }

    static var allCases: [Self] { (0...codes.count).map { Self(index: $0) } }

    var text: String { index < Self.codes.count ? String(Self.codes[index]) : "other" }
}

/// Counts and durations of the requests to both listeners, since the start of the process.
package final class HTTPMetrics: Sendable {
    let requests = CounterTable(RouteLabel.all, HTTPStatusLabel.texts)
    let durations = RouteLabel.all.map { _ in Histogram() }

    func record(_ path: String?, status: Int, after duration: Duration) {
        let route = RouteLabel.index(of: path)
        requests.add(at: route, HTTPStatusLabel(code: status).index)
        durations[route].observe(duration)
    }

    func write(into text: inout MetricsText) {
        text.family(.httpRequests, of: requests)
        text.family(.httpDurations)
        for (route, histogram) in zip(RouteLabel.all, durations) {
            text.samples(.httpDurations, [route], of: histogram, omitsEmpty: true)
        }
    }
}
