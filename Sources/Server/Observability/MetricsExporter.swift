import AppStoreClients
import Base
import BridgeConfiguration
import Comparison
import Notifications
import Operations
import Storage
import Telemetry
import Transport
import VerifyReceipt

/// All metrics of the server in the Prometheus text format.
struct MetricsExporter: Sendable {
    let view: ServerHealth

    private var pipelines: ServiceGraph { view.pipelines }

    /// Returns the metrics as UTF-8.
    func text() async -> [UInt8] {
        // If the store cannot be read, the backlog is missing; other metrics report the failure.
        let backlog = (try? await view.store?.outbox.deliveryBacklog()) ?? []
        let requests = (try? await view.store?.consumption.openConsumptionRequests(since: openSince)) ?? []
        let reconciliation = try? await view.store?.reconciliations.lastReconciliation()
        var text = MetricsText()
        text.family(.buildInfo)
        text.sample(.buildInfo, [("version", view.version)], 1)
        text.single(.ready, view.state.phase == .ready ? 1 : 0)
        view.requests.write(into: &text)
        writeClients(into: &text)
        writeTLS(into: &text)
        writeVerdicts(into: &text)
        text.family(.leftOutMembers)
        for (name, count) in pipelines.counts.leftOut.sorted {
            text.sample(.leftOutMembers, [("member", name)], count)
        }
        pipelines.counts.upstream.write(into: &text)
        writeHosts(into: &text)
        writeBudgets(into: &text)
        writeNotifications(into: &text)
        writeForwarding(backlog, into: &text)
        writeOperations(requests, into: &text)
        text.family(.reconciliationEnd)
        if view.settings.reconcile != nil {
            text.sample(.reconciliationEnd, reconciliation?.endedAt?.seconds ?? 0)
        }
        writeShadow(into: &text)
        writeRollouts(into: &text)
        writeStore(into: &text)
        text.single(.droppedLogLines, NonBlockingLogOutput.standardError.dropped)
        ProcessFigures()?.write(into: &text)
        pipelines.counts.events.write(into: &text)
        return text.bytes
    }

    // MARK: - Families

    /// Connections and rejected clients.
    private func writeClients(into text: inout MetricsText) {
        let (atPublic, atOperations) = view.connections()
        text.family(.httpConnections)
        text.sample(.httpConnections, [("listener", "public")], Int64(atPublic))
        text.sample(.httpConnections, [("listener", "operations")], Int64(atOperations))
        text.family(.rejectedClients)
        text.samples(.rejectedClients, of: view.rejections, zeros: true)
    }

    /// Handshakes and the expiry of the certificate.
    private func writeTLS(into text: inout MetricsText) {
        text.family(.handshakes)
        text.samples(.handshakes, of: view.handshakes)
        text.family(.certificateExpiry)
        if let certificate = view.certificate { text.sample(.certificateExpiry, certificate.validity.upperBound) }
    }

    /// verifyReceipt responses, and the caches behind them.
    private func writeVerdicts(into text: inout MetricsText) {
        let counts = pipelines.counts
        text.family(.responses)
        samples(.responses, of: \.verdicts, into: &text)
        text.family(.responseDurations)
        for (source, histogram) in zip(SourceLabel.allCases, counts.durations) {
            text.samples(.responseDurations, [("source", source.text)], of: histogram)
        }
        text.family(.authenticationFailures)
        text.samples(.authenticationFailures, of: counts.authenticationFailures)
        text.family(.repairs)
        text.samples(.repairs, of: counts.repairs)
        text.family(.revocations)
        samples(.revocations, of: \.revocations, into: &text)
        for (family, table) in [
            (MetricFamily.recordCache, counts.recordCache), (.responseCache, counts.responseCache),
        ] {
            text.family(family)
            text.samples(family, of: table, zeros: true)
        }
    }

    /// Host labels come only from the configuration, so their number is bounded.
    private func writeHosts(into text: inout MetricsText) {
        let hosts = view.hosts()
        func family(_ family: MetricFamily, _ value: (CircuitBreakingTransport.HostState) -> Int64) {
            text.family(family)
            for host in hosts { text.sample(family, [("host", host.host)], value(host)) }
        }
        family(.circuitOpen) { $0.state == .closed ? 0 : 1 }
        family(.circuitOpened) { $0.opened }
        family(.upstreamInFlight) { Int64($0.inFlight) }
        text.family(.upstreamRefused)
        for host in hosts {
            text.sample(.upstreamRefused, [("host", host.host), ("reason", "circuitOpen")], host.refused)
            text.sample(
                .upstreamRefused, [("host", host.host), ("reason", "tooManyRepetitions")], host.rejectedRetries)
        }
    }

    /// Call budgets of the App Store Server API, by app, endpoint and environment.
    private func writeBudgets(into text: inout MetricsText) {
        let budgets = pipelines.budgets
        let families: [(MetricFamily, KeyPath<ServerAPIBudget.Level, Int64>)] = [
            (.callsLeft, \.left), (.callsPerHour, \.limit),
        ]
        for (family, value) in families {
            text.family(family)
            for budget in budgets {
                for level in budget.levels {
                    text.sample(
                        family,
                        [
                            ("app", budget.bundleId.rawValue), ("endpoint", level.endpoint.name),
                            ("environment", level.environment.rawValue),
                        ], level[keyPath: value])
                }
            }
        }
    }

    /// Notifications from the App Store.
    private func writeNotifications(into text: inout MetricsText) {
        let counts = pipelines.notifications.counts.now
        text.family(.notifications)
        text.sample(.notifications, [("outcome", "stored")], counts.stored)
        text.sample(.notifications, [("outcome", "repeated")], counts.repeated)
        text.family(.rejectedNotifications)
        for code in NotificationRejection.Code.allCases {
            text.sample(.rejectedNotifications, [("code", code.rawValue)], counts.refused[code] ?? 0)
        }
        text.single(.droppedHints, counts.droppedHints)
    }

    /// Deliveries of forwarded notifications.
    private func writeForwarding(_ backlog: [DeliveryBacklog], into text: inout MetricsText) {
        text.family(.deliveries)
        samples(.deliveries, of: \.deliveries, into: &text)
        let families: [(MetricFamily, KeyPath<DeliveryBacklog, Int64>)] = [
            (.deliveriesWaiting, \.waiting), (.deliveriesDead, \.abandoned),
        ]
        for (family, value) in families {
            text.family(family)
            for row in backlog { text.sample(family, [("app", row.bundleId.rawValue)], row[keyPath: value]) }
        }
        text.family(.deliveryLimit)
        for limit in view.deliveryLimits() {
            let labels = [("app", limit.bundleId.rawValue), ("host", limit.host), ("as", limit.form.rawValue)]
            text.sample(.deliveryLimit, labels, Int64(limit.deliveries))
        }
    }

    /// What support teams ask for.
    private func writeOperations(_ requests: [OpenConsumptionRequests], into text: inout MetricsText) {
        text.family(.orderLookups)
        samples(.orderLookups, of: \.orders, into: &text)
        let families: [(MetricFamily, (OpenConsumptionRequests) -> Int64)] = [
            (.consumptionOpen, { $0.count }),
            (.consumptionDeadline, { ConsumptionDeadline(requestedAt: $0.oldest).end.seconds }),
        ]
        for (family, value) in families {
            text.family(family)
            for row in requests {
                let labels = [
                    ("app", row.scope.bundleId.rawValue), ("environment", row.scope.environment.rawValue),
                ]
                text.sample(family, labels, value(row))
            }
        }
        text.family(.refundDecisions)
        samples(.refundDecisions, of: \.refundDecisions, into: &text)
    }

    /// Apple's requests since this time can still be answered.
    private var openSince: Timestamp { ConsumptionDeadline.oldestOpen(at: pipelines.operations.now) }

    /// Background comparisons.
    private func writeShadow(into text: inout MetricsText) {
        text.family(.comparisons)
        samples(.comparisons, of: \.comparisons, into: &text)
        text.family(.differences)
        samples(.differences, of: \.differences, into: &text)
        text.single(.comparisonsWaiting, Int64(view.shadow?.waiting ?? 0))
    }

    /// Gradual switches to another source.
    private func writeRollouts(into text: inout MetricsText) {
        let rollouts = pipelines.rollouts.reports
        func family(_ family: MetricFamily, _ value: (RolloutReport) -> Int64) {
            text.family(family)
            for rollout in rollouts { text.sample(family, [("app", rollout.bundleId)], value(rollout)) }
        }
        text.family(.rolloutShare)
        for rollout in rollouts {
            text.sample(.rolloutShare, [("app", rollout.bundleId)], fraction: rollout.share / 100)
        }
        family(.rolloutStopped) { $0.phase == .stopped ? 1 : 0 }
        text.family(.rolloutCustomers)
        for rollout in rollouts {
            let results = [("equal", rollout.compared - rollout.different), ("different", rollout.different)]
            for (result, count) in results {
                text.sample(.rolloutCustomers, [("app", rollout.bundleId), ("result", result)], count)
            }
        }
        text.family(.rolloutResponses)
        samples(.rolloutResponses, of: \.rolloutResponses, into: &text)
    }

    /// The state of the store.
    private func writeStore(into text: inout MetricsText) {
        text.family(.storeOpen)
        if view.settings.store != nil { text.sample(.storeOpen, Int64(view.hasStore ? 1 : 0)) }
        guard let store = view.store else { return }
        text.single(.storeWritesWaiting, Int64(store.writesWaiting))
        text.single(.storeWrites, store.metrics.writes.count)
        text.family(.storeErrors)
        text.samples(.storeErrors, of: store.metrics.errors, zeros: true)
    }

    // MARK: - Labels

    /// Appends the samples of one counter table for every app label.
    private func samples(
        _ family: MetricFamily, of table: KeyPath<AppMetrics, CounterTable>, into text: inout MetricsText
    ) {
        for (app, counts) in pipelines.counts.labelled {
            text.samples(family, [("app", app)], of: counts[keyPath: table])
        }
    }
}
