/// A family of metrics. The text has its name, the names of its labels and its help. A name in the output has the
/// prefix `receipt_bridge_`, unless it is one of Prometheus's client libraries (`process_`). The unit and the ending
/// tell the type: a counter ends in `_total`, a histogram in `_duration_seconds`.
package enum MetricFamily: String, CaseIterable, Sendable {
    case buildInfo = "build_info{version} Always 1; the label is the version of the program."
    case ready = "ready 1 if the server is ready for requests, otherwise 0."
    case httpRequests = "http_requests_total{route,status} Requests, by route and HTTP status."
    case httpDurations =
        "http_request_duration_seconds{route} Time from the head of a request to the head of its response, in seconds."
    case httpConnections = "http_connections{listener} Open HTTP connections, by listener."
    case rejectedClients =
        "clients_turned_away_total{limit} Requests and connections rejected because their client exceeded a limit, by configuration key."
    case handshakes = "tls_handshakes_total{outcome} TLS handshakes of the public listener, by outcome."
    case certificateExpiry =
        "tls_certificate_not_after_seconds Expiry of the public listener's certificate, in seconds since 1970; absent if it has none."
    case responses =
        "verdicts_total{app,status,source,environment} verifyReceipt responses, by app, status, source and environment."
    case responseDurations =
        "verdict_duration_seconds{source} Time from a request's body to its verifyReceipt response in seconds, by source."
    case authenticationFailures =
        "authentication_failed_total{reason,verdict} Receipts that were not authenticated here, by reason; notJudged is neither proven forged nor proven not a receipt."
    case repairs =
        "would_repair_total{repair} Rejected receipts that the tolerant profile would have accepted, by repair; at most 10 per second are checked."
    case revocations = "revocations_seen_total{app,environment} Purchases that were reported as refunded or revoked."
    case denialConfirmations =
        "denial_confirmations_total{result} Denials that the App Store was asked about, by what it says."
    case recordCache = "record_cache_requests_total{result} Lookups in the record cache, by hit or miss."
    case responseCache = "answer_memory_requests_total{result} Lookups in the response cache, by hit or miss."
    case leftOutMembers =
        "unexpected_types_total{member} Members of the App Store's records that were left out because their type is unexpected, by name."
    case upstreamRequests =
        "upstream_requests_total{endpoint,environment,outcome} Exchanges with Apple by endpoint, environment and outcome."
    case upstreamDurations =
        "upstream_request_duration_seconds{endpoint,environment} Duration of exchanges with Apple in seconds."
    case foreignRecords =
        "foreign_records_total{environment} Records in the App Store's answers that were left out because they are signed for another app or environment."
    case circuitOpen = "upstream_circuit_open{host} 1 if the host's circuit breaker is open or half-open, otherwise 0."
    case circuitOpened = "upstream_circuit_opened_total{host} Times the host's circuit breaker opened."
    case upstreamInFlight =
        "upstream_under_way{host} Upstream requests in flight, including those waiting for a connection."
    case upstreamRefused =
        "upstream_refused_total{host,reason} Upstream requests not sent because the circuit breaker was open or the retry budget used up."
    case callsLeft =
        "server_api_calls_left{app,endpoint,environment} App Store Server API calls left in the hourly budget."
    case callsPerHour =
        "server_api_calls_per_hour{app,endpoint,environment} Hourly budget of App Store Server API calls."
    case notifications = "notifications_total{outcome} App Store notifications that were accepted."
    case rejectedNotifications =
        "notifications_refused_total{code} App Store notifications that were rejected, by error code."
    case deliveries = "forwarding_deliveries_total{app,outcome} Attempts to forward a notification, by outcome."
    case deliveriesWaiting = "forwarding_waiting{app} Deliveries that wait for their first attempt or a retry."
    case deliveriesDead = "forwarding_dead{app} Deliveries that failed for good and are not retried."
    case deliveryLimit =
        "forwarding_concurrency{app,host,as} Deliveries to a target that may be in flight at this server, as it adapts to the target."
    case consumptionOpen =
        "consumption_requests_open{app,environment} Apple's requests for consumption information that were neither answered nor decided and whose 12 hours are not over."
    case consumptionDeadline =
        "consumption_deadline_seconds{app,environment} End of the 12 hours of the oldest open request for consumption information, in seconds since 1970."
    case refundDecisions =
        "refund_decisions_total{app,decision} Decisions about purchases that Apple asked about: from a notification, or found 48 hours after the request."
    case reconciliationEnd =
        "reconciliation_last_end_seconds End of the last complete reconciliation of any server, in seconds since 1970; 0 if none has ended yet, absent without reconcile."
    case customersToLookUp =
        "customers_to_look_up Customers whose stored records may lack something and who are being looked up; absent without a store."
    case comparisons = "shadow_comparisons_total{app,outcome} Comparisons with the second source, by outcome."
    case differences = "shadow_differences_total{app,class} Differences found by comparisons, by class."
    case comparisonsWaiting = "shadow_waiting Comparisons waiting in the queue."
    case rolloutShare = "rollout_share{app} Share of the customers that a rollout answers now, from 0 to 1."
    case rolloutStopped =
        "rollout_stopped{app} 1 if the rollout has stopped because too many customers differ, otherwise 0."
    case rolloutCustomers =
        "rollout_customers{app,result} Customers that were compared during the rollout, of all servers, by result."
    case rolloutResponses =
        "rollout_responses_total{app,outcome} Responses to customers of a rollout, by the outcome of their comparison."
    case storeOpen = "store_open 1 if the configured store is open, otherwise 0; absent if no store is configured."
    case storeWritesWaiting = "store_writes_waiting Writes waiting for the disk."
    case storeWrites = "store_writes_total Writes that are on disk."
    case storeErrors = "store_errors_total{code} Failed reads and writes of the store, by error code."
    case storeClockDifference =
        "store_clock_difference_seconds Seconds by which the database's clock is ahead of this machine's, negative if behind; absent with SQLite."
    case droppedLogLines =
        "log_lines_dropped_total Log lines that were dropped because the log was not read fast enough."
    case processCPU = "process_cpu_seconds_total Total user and system CPU time spent in seconds."
    case processStart = "process_start_time_seconds Start time of the process since unix epoch in seconds."
    case processResident = "process_resident_memory_bytes Resident memory size in bytes."
    case processVirtual = "process_virtual_memory_bytes Virtual memory size in bytes."
    case processThreads = "process_threads Threads."
    case processOpenFiles = "process_open_fds Number of open file descriptors."
    case processMaximumFiles = "process_max_fds Maximum number of open file descriptors."
}

/// An event that is counted without labels, in ``ProxyMetrics``, and exported without further code: such a metric needs
/// its declaration and the line that counts. The text is that of a ``MetricFamily``.
package enum MetricEvent: String, MetricLabel {
    case droppedHints =
        "notification_hints_dropped_total Lookups after notifications that were dropped because too many were in flight."
    case droppedWrites =
        "background_writes_dropped_total Background writes to the store that were dropped because too many were waiting, or that failed."
    case recoveredNotifications =
        "notifications_recovered_total Notifications that were refused while the store was unavailable, and fetched from the history afterwards."
    case reconciledNotifications =
        "reconciliation_notifications_total Notifications that reconciliations found in Apple's history and that were not stored before."
    case reconciledCustomers = "reconciliation_customers_total Customers that reconciliations looked up."
    case reconciledDifferences =
        "reconciliation_differences_total Customers whose records differed from the App Store's when a reconciliation looked them up."
    case reconciledRefunds = "reconciliation_refunds_total Refunds that reconciliations found and that were not known."
    case reconciliationFailures =
        "reconciliation_failures_total Customers and notification histories that reconciliations could not ask about."
    case rejectedSecrets =
        "shared_secret_rejected_total Responses 21004 of Apple's to the configured shared secret; the requests went to the next source."
}

/// A declaration of a family: the first word of its text, and the rest.
package struct MetricRow: Sendable {
    package let name: String
    package let help: String
    /// The names of the labels, in the order in which they are written. The bucket label `le` of a histogram is not
    /// among them.
    package let labels: [String]
    /// The type that is announced to Prometheus.
    package let kind: MetricsText.Kind

    /// All families, in the order of the documents.
    package static let all = families.map(\.1) + MetricEvent.allCases.map(\.row)
    private static let families = MetricFamily.allCases.map { ($0, MetricRow($0.rawValue)) }
    fileprivate static let byFamily = Dictionary(uniqueKeysWithValues: families)

    fileprivate init(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
        let head = parts[0].split(whereSeparator: "{,}".contains).map(String.init)
        name = head[0].hasPrefix("process_") ? head[0] : "receipt_bridge_\(head[0])"
        (help, labels) = (parts[1], Array(head.dropFirst()))
        kind = name.hasSuffix("_total") ? .counter : name.hasSuffix("_duration_seconds") ? .histogram : .gauge
    }
}

extension MetricFamily {
    package var row: MetricRow { MetricRow.byFamily[self] ?? MetricRow(rawValue) }
}

extension MetricEvent {
    package var row: MetricRow { MetricRow(rawValue) }
}
