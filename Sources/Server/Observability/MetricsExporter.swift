import AppStoreClients
import Storage
import ListenerTLS
import VerifyReceipt
import AppStoreTypes
import Telemetry
import Transport

/// All metrics of the server in the Prometheus text format.
struct MetricsExporter: Sendable {
    let view: ServerHealth

    private var pipelines: ServiceGraph { view.pipelines }

    /// Returns the metrics as UTF-8.
    func text() async -> [UInt8] {
        // If the store cannot be read, the backlog is missing; other metrics report the failure.
        let backlog = (try? await view.store?.deliveryBacklog()) ?? []
        var text = MetricsText()
        text.family("receipt_bridge_build_info", .gauge, "Always 1; the label is the version of the program.")
        text.sample("receipt_bridge_build_info", [("version", view.version)], 1)
        text.single(
            "receipt_bridge_ready", .gauge, "1 if the server is ready for requests, otherwise 0.",
            view.state.phase == .ready ? 1 : 0)
        view.requests.write(into: &text)
        writeClients(into: &text)
        writeTLS(into: &text)
        writeVerdicts(into: &text)
        pipelines.counts.upstream.write(into: &text)
        writeHosts(into: &text)
        writeBudgets(into: &text)
        writeNotifications(into: &text)
        writeForwarding(backlog, into: &text)
        writeShadow(into: &text)
        writeStore(into: &text)
        text.single(
            "receipt_bridge_log_lines_dropped_total", .counter,
            "Log lines that were dropped because the log was not read fast enough.",
            NonBlockingLogOutput.standardError.dropped)
        ProcessFigures()?.write(into: &text)
        return text.bytes
    }

    // MARK: - Families

    /// Connections and rejected clients.
    private func writeClients(into text: inout MetricsText) {
        let (atPublic, atOperations) = view.connections()
        let connections = "receipt_bridge_http_connections"
        text.family(connections, .gauge, "Open HTTP connections, by listener.")
        text.sample(connections, [("listener", "public")], Int64(atPublic))
        text.sample(connections, [("listener", "operations")], Int64(atOperations))
        let rejections = "receipt_bridge_clients_turned_away_total"
        text.family(
            rejections, .counter,
            "Requests and connections rejected because their client exceeded a limit, by configuration key.")
        text.samples(rejections, of: view.rejections, zeros: true)
    }

    /// Handshakes and the expiry of the certificate.
    private func writeTLS(into text: inout MetricsText) {
        let handshakes = "receipt_bridge_tls_handshakes_total"
        text.family(handshakes, .counter, "TLS handshakes of the public listener, by outcome.")
        text.samples(handshakes, of: view.handshakes)
        let end = "receipt_bridge_tls_certificate_not_after_seconds"
        text.family(
            end, .gauge, "Expiry of the public listener's certificate, in seconds since 1970; absent if it has none.")
        if let certificate = view.settings.tls { text.sample(end, certificate.validity.upperBound) }
    }

    /// verifyReceipt responses, and the caches behind them.
    private func writeVerdicts(into text: inout MetricsText) {
        let counts = pipelines.counts
        let verdicts = "receipt_bridge_verdicts_total"
        text.family(verdicts, .counter, "verifyReceipt responses, by app, status, source and environment.")
        samples(verdicts, of: \.verdicts, into: &text)
        let duration = "receipt_bridge_verdict_duration_seconds"
        text.family(
            duration, .histogram, "Time from a request's body to its verifyReceipt response in seconds, by source.")
        for (source, histogram) in zip(SourceLabel.allCases, counts.durations) {
            text.samples(duration, [("source", source.text)], of: histogram)
        }
        let repairs = "receipt_bridge_would_repair_total"
        text.family(
            repairs, .counter,
            "Rejected receipts that the tolerant profile would have accepted, by repair; at most 10 per second are checked."
        )
        text.samples(repairs, of: counts.repairs)
        let revocations = "receipt_bridge_revocations_seen_total"
        text.family(revocations, .counter, "Purchases that were reported as refunded or revoked.")
        samples(revocations, of: \.revocations, into: &text)
        for (name, table, help) in [
            (
                "receipt_bridge_record_cache_requests_total", counts.recordCache,
                "Lookups in the record cache, by hit or miss."
            ),
            (
                "receipt_bridge_answer_memory_requests_total", counts.responseCache,
                "Lookups in the response cache, by hit or miss."
            ),
        ] {
            text.family(name, .counter, help)
            text.samples(name, of: table, zeros: true)
        }
    }

    /// Host labels come only from the configuration, so their number is bounded.
    private func writeHosts(into text: inout MetricsText) {
        let hosts = view.hosts()
        func family(
            _ name: String, _ kind: MetricsText.Kind, _ help: String,
            _ value: (CircuitBreakingTransport.HostState) -> Int64
        ) {
            text.family(name, kind, help)
            for host in hosts { text.sample(name, [("host", host.host)], value(host)) }
        }
        family(
            "receipt_bridge_upstream_circuit_open", .gauge,
            "1 if the host's circuit breaker is open or half-open, otherwise 0."
        ) {
            $0.state == .closed ? 0 : 1
        }
        family("receipt_bridge_upstream_circuit_opened_total", .counter, "Times the host's circuit breaker opened.") {
            $0.opened
        }
        family(
            "receipt_bridge_upstream_under_way", .gauge,
            "Upstream requests in flight, including those waiting for a connection."
        ) {
            Int64($0.inFlight)
        }
        let refused = "receipt_bridge_upstream_refused_total"
        text.family(
            refused, .counter,
            "Upstream requests not sent because the circuit breaker was open or the retry budget used up.")
        for host in hosts {
            text.sample(refused, [("host", host.host), ("reason", "circuitOpen")], host.refused)
            text.sample(refused, [("host", host.host), ("reason", "tooManyRepetitions")], host.rejectedRetries)
        }
    }

    /// Call budgets of the App Store Server API, by app, endpoint and environment.
    private func writeBudgets(into text: inout MetricsText) {
        let budgets = pipelines.budgets
        let families: [(name: String, help: String, value: KeyPath<ServerAPIBudget.Level, Int64>)] = [
            ("receipt_bridge_server_api_calls_left", "App Store Server API calls left in the hourly budget.", \.left),
            ("receipt_bridge_server_api_calls_per_hour", "Hourly budget of App Store Server API calls.", \.limit),
        ]
        for (name, help, value) in families {
            text.family(name, .gauge, help)
            for budget in budgets {
                for level in budget.levels {
                    text.sample(
                        name,
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
        let accepted = "receipt_bridge_notifications_total"
        text.family(accepted, .counter, "App Store notifications that were accepted.")
        text.sample(accepted, [("outcome", "stored")], counts.stored)
        text.sample(accepted, [("outcome", "repeated")], counts.repeated)
        let refused = "receipt_bridge_notifications_refused_total"
        text.family(refused, .counter, "App Store notifications that were rejected, by error code.")
        for code in NotificationRejection.Code.allCases {
            text.sample(refused, [("code", code.rawValue)], counts.refused[code] ?? 0)
        }
        text.single(
            "receipt_bridge_notification_hints_dropped_total", .counter,
            "Lookups for version 1 notifications that were dropped because too many were in flight.",
            counts.droppedHints)
    }

    /// Deliveries of forwarded notifications.
    private func writeForwarding(_ backlog: [DeliveryBacklog], into text: inout MetricsText) {
        let deliveries = "receipt_bridge_forwarding_deliveries_total"
        text.family(deliveries, .counter, "Attempts to forward a notification, by outcome.")
        samples(deliveries, of: \.deliveries, into: &text)
        let families: [(name: String, help: String, value: KeyPath<DeliveryBacklog, Int64>)] = [
            (
                "receipt_bridge_forwarding_waiting", "Deliveries that wait for their first attempt or a retry.",
                \.waiting
            ),
            ("receipt_bridge_forwarding_dead", "Deliveries that failed for good and are not retried.", \.abandoned),
        ]
        for (name, help, value) in families {
            text.family(name, .gauge, help)
            for row in backlog { text.sample(name, [("app", row.bundleId.rawValue)], row[keyPath: value]) }
        }
    }

    /// Background comparisons.
    private func writeShadow(into text: inout MetricsText) {
        let comparisons = "receipt_bridge_shadow_comparisons_total"
        text.family(comparisons, .counter, "Comparisons with the second source, by outcome.")
        samples(comparisons, of: \.comparisons, into: &text)
        let differences = "receipt_bridge_shadow_differences_total"
        text.family(differences, .counter, "Differences found by comparisons, by class.")
        samples(differences, of: \.differences, into: &text)
        text.single(
            "receipt_bridge_shadow_waiting", .gauge, "Comparisons waiting in the queue.",
            Int64(view.shadow?.waiting ?? 0))
    }

    /// The state of the store.
    private func writeStore(into text: inout MetricsText) {
        let open = "receipt_bridge_store_open"
        text.family(open, .gauge, "1 if the configured store is open, otherwise 0; absent if no store is configured.")
        if view.settings.storePath != nil { text.sample(open, Int64(view.hasStore ? 1 : 0)) }
        guard let store = view.store else { return }
        text.single(
            "receipt_bridge_store_writes_waiting", .gauge, "Writes waiting for the disk.",
            Int64(store.writesWaiting))
        text.single(
            "receipt_bridge_store_writes_total", .counter, "Writes that are on disk.", store.counts.writes.count)
        let errors = "receipt_bridge_store_errors_total"
        text.family(errors, .counter, "Failed reads and writes of the store, by error code.")
        text.samples(errors, of: store.counts.errors, zeros: true)
    }

    // MARK: - Labels

    /// Appends the samples of one counter table for every app label.
    private func samples(
        _ name: String, of table: KeyPath<AppMetrics, CounterTable>, into text: inout MetricsText
    ) {
        for (app, counts) in pipelines.counts.labelled {
            text.samples(name, [("app", app)], of: counts[keyPath: table])
        }
    }
}
