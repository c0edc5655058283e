/// A family of metrics: its name, type and help text, and the names of its labels.
package struct MetricFamily: Sendable, Hashable {
    /// The name including the unit. The name of a counter ends in `_total`.
    package let name: String
    /// The type that is announced to Prometheus.
    package let kind: MetricsText.Kind
    /// One sentence.
    package let help: String
    /// The names of the labels, in the order in which they are written. The bucket label `le` of a histogram is not
    /// among them.
    package let labels: [String]

    /// Creates a family.
    package init(_ name: String, _ kind: MetricsText.Kind, _ help: String, labels: [String] = []) {
        (self.name, self.kind, self.help, self.labels) = (name, kind, help, labels)
    }
}

/// All metric families of the server.
extension MetricFamily {
    package static let buildInfo = Self(
        "receipt_bridge_build_info", .gauge,
        "Always 1; the label is the version of the program.",
        labels: ["version"])
    package static let ready = Self(
        "receipt_bridge_ready", .gauge,
        "1 if the server is ready for requests, otherwise 0.")
    package static let httpRequests = Self(
        "receipt_bridge_http_requests_total", .counter,
        "Requests, by route and HTTP status.",
        labels: ["route", "status"])
    package static let httpDurations = Self(
        "receipt_bridge_http_request_duration_seconds", .histogram,
        "Time from the head of a request to the head of its response, in seconds.",
        labels: ["route"])
    package static let httpConnections = Self(
        "receipt_bridge_http_connections", .gauge,
        "Open HTTP connections, by listener.",
        labels: ["listener"])
    package static let rejectedClients = Self(
        "receipt_bridge_clients_turned_away_total", .counter,
        "Requests and connections rejected because their client exceeded a limit, by configuration key.",
        labels: ["limit"])
    package static let handshakes = Self(
        "receipt_bridge_tls_handshakes_total", .counter,
        "TLS handshakes of the public listener, by outcome.",
        labels: ["outcome"])
    package static let certificateExpiry = Self(
        "receipt_bridge_tls_certificate_not_after_seconds", .gauge,
        "Expiry of the public listener's certificate, in seconds since 1970; absent if it has none.")
    package static let responses = Self(
        "receipt_bridge_verdicts_total", .counter,
        "verifyReceipt responses, by app, status, source and environment.",
        labels: ["app", "status", "source", "environment"])
    package static let responseDurations = Self(
        "receipt_bridge_verdict_duration_seconds", .histogram,
        "Time from a request's body to its verifyReceipt response in seconds, by source.",
        labels: ["source"])
    package static let authenticationFailures = Self(
        "receipt_bridge_authentication_failed_total", .counter,
        "Receipts that were not authenticated here, by reason; notJudged is neither proven forged nor proven not a receipt.",
        labels: ["reason", "verdict"])
    package static let repairs = Self(
        "receipt_bridge_would_repair_total", .counter,
        "Rejected receipts that the tolerant profile would have accepted, by repair; at most 10 per second are checked.",
        labels: ["repair"])
    package static let revocations = Self(
        "receipt_bridge_revocations_seen_total", .counter,
        "Purchases that were reported as refunded or revoked.",
        labels: ["app", "environment"])
    package static let recordCache = Self(
        "receipt_bridge_record_cache_requests_total", .counter,
        "Lookups in the record cache, by hit or miss.",
        labels: ["result"])
    package static let responseCache = Self(
        "receipt_bridge_answer_memory_requests_total", .counter,
        "Lookups in the response cache, by hit or miss.",
        labels: ["result"])
    package static let leftOutMembers = Self(
        "receipt_bridge_unexpected_types_total", .counter,
        "Members of the App Store's records that were left out because their type is unexpected, by name.",
        labels: ["member"])
    package static let upstreamRequests = Self(
        "receipt_bridge_upstream_requests_total", .counter,
        "Exchanges with Apple by endpoint, environment and outcome.",
        labels: ["endpoint", "environment", "outcome"])
    package static let upstreamDurations = Self(
        "receipt_bridge_upstream_request_duration_seconds", .histogram,
        "Duration of exchanges with Apple in seconds.",
        labels: ["endpoint", "environment"])
    package static let circuitOpen = Self(
        "receipt_bridge_upstream_circuit_open", .gauge,
        "1 if the host's circuit breaker is open or half-open, otherwise 0.",
        labels: ["host"])
    package static let circuitOpened = Self(
        "receipt_bridge_upstream_circuit_opened_total", .counter,
        "Times the host's circuit breaker opened.",
        labels: ["host"])
    package static let upstreamInFlight = Self(
        "receipt_bridge_upstream_under_way", .gauge,
        "Upstream requests in flight, including those waiting for a connection.",
        labels: ["host"])
    package static let upstreamRefused = Self(
        "receipt_bridge_upstream_refused_total", .counter,
        "Upstream requests not sent because the circuit breaker was open or the retry budget used up.",
        labels: ["host", "reason"])
    package static let callsLeft = Self(
        "receipt_bridge_server_api_calls_left", .gauge,
        "App Store Server API calls left in the hourly budget.",
        labels: ["app", "endpoint", "environment"])
    package static let callsPerHour = Self(
        "receipt_bridge_server_api_calls_per_hour", .gauge,
        "Hourly budget of App Store Server API calls.",
        labels: ["app", "endpoint", "environment"])
    package static let notifications = Self(
        "receipt_bridge_notifications_total", .counter,
        "App Store notifications that were accepted.",
        labels: ["outcome"])
    package static let rejectedNotifications = Self(
        "receipt_bridge_notifications_refused_total", .counter,
        "App Store notifications that were rejected, by error code.",
        labels: ["code"])
    package static let droppedHints = Self(
        "receipt_bridge_notification_hints_dropped_total", .counter,
        "Lookups for version 1 notifications that were dropped because too many were in flight.")
    package static let recoveredNotifications = Self(
        "receipt_bridge_notifications_recovered_total", .counter,
        "Notifications that were refused while the store was unavailable, and fetched from the history afterwards.")
    package static let reconciledNotifications = Self(
        "receipt_bridge_reconciliation_notifications_total", .counter,
        "Notifications that reconciliations found in Apple's history and that were not stored before.")
    package static let reconciledCustomers = Self(
        "receipt_bridge_reconciliation_customers_total", .counter,
        "Customers that reconciliations looked up.")
    package static let reconciledDifferences = Self(
        "receipt_bridge_reconciliation_differences_total", .counter,
        "Customers whose records differed from the App Store's when a reconciliation looked them up.")
    package static let reconciledRefunds = Self(
        "receipt_bridge_reconciliation_refunds_total", .counter,
        "Refunds that reconciliations found and that were not known.")
    package static let reconciliationFailures = Self(
        "receipt_bridge_reconciliation_failures_total", .counter,
        "Customers and notification histories that reconciliations could not ask about.")
    package static let reconciliationEnd = Self(
        "receipt_bridge_reconciliation_last_end_seconds", .gauge,
        "End of the last complete reconciliation of any server, in seconds since 1970; absent without reconcile.")
    package static let deliveries = Self(
        "receipt_bridge_forwarding_deliveries_total", .counter,
        "Attempts to forward a notification, by outcome.",
        labels: ["app", "outcome"])
    package static let deliveriesWaiting = Self(
        "receipt_bridge_forwarding_waiting", .gauge,
        "Deliveries that wait for their first attempt or a retry.",
        labels: ["app"])
    package static let deliveriesDead = Self(
        "receipt_bridge_forwarding_dead", .gauge,
        "Deliveries that failed for good and are not retried.",
        labels: ["app"])
    package static let deliveryLimit = Self(
        "receipt_bridge_forwarding_concurrency", .gauge,
        "Deliveries to a target that may be in flight at this server, as it adapts to the target.",
        labels: ["app", "host", "as"])
    package static let orderLookups = Self(
        "receipt_bridge_order_lookups_total", .counter,
        "Lookups of orders over HTTP, by outcome and by whether the order was asked for before.",
        labels: ["app", "outcome", "repeated"])
    package static let consumptionOpen = Self(
        "receipt_bridge_consumption_requests_open", .gauge,
        "Apple's requests for consumption information that were neither answered nor decided and whose 12 hours are not over.",
        labels: ["app", "environment"])
    package static let consumptionDeadline = Self(
        "receipt_bridge_consumption_deadline_seconds", .gauge,
        "End of the 12 hours of the oldest open request for consumption information, in seconds since 1970.",
        labels: ["app", "environment"])
    package static let refundDecisions = Self(
        "receipt_bridge_refund_decisions_total", .counter,
        "Decisions about purchases that Apple asked about: from a notification, or found 48 hours after the request.",
        labels: ["app", "decision"])
    package static let comparisons = Self(
        "receipt_bridge_shadow_comparisons_total", .counter,
        "Comparisons with the second source, by outcome.",
        labels: ["app", "outcome"])
    package static let differences = Self(
        "receipt_bridge_shadow_differences_total", .counter,
        "Differences found by comparisons, by class.",
        labels: ["app", "class"])
    package static let comparisonsWaiting = Self(
        "receipt_bridge_shadow_waiting", .gauge,
        "Comparisons waiting in the queue.")
    package static let rolloutShare = Self(
        "receipt_bridge_rollout_share", .gauge,
        "Share of the customers that a rollout answers now, from 0 to 1.",
        labels: ["app"])
    package static let rolloutStopped = Self(
        "receipt_bridge_rollout_stopped", .gauge,
        "1 if the rollout has stopped because too many customers differ, otherwise 0.",
        labels: ["app"])
    package static let rolloutCustomers = Self(
        "receipt_bridge_rollout_customers", .gauge,
        "Customers that were compared during the rollout, of all servers, by result.",
        labels: ["app", "result"])
    package static let rolloutResponses = Self(
        "receipt_bridge_rollout_responses_total", .counter,
        "Responses to customers of a rollout, by the outcome of their comparison.",
        labels: ["app", "outcome"])
    package static let storeOpen = Self(
        "receipt_bridge_store_open", .gauge,
        "1 if the configured store is open, otherwise 0; absent if no store is configured.")
    package static let storeWritesWaiting = Self(
        "receipt_bridge_store_writes_waiting", .gauge,
        "Writes waiting for the disk.")
    package static let storeWrites = Self("receipt_bridge_store_writes_total", .counter, "Writes that are on disk.")
    package static let storeErrors = Self(
        "receipt_bridge_store_errors_total", .counter,
        "Failed reads and writes of the store, by error code.",
        labels: ["code"])
    package static let droppedLogLines = Self(
        "receipt_bridge_log_lines_dropped_total", .counter,
        "Log lines that were dropped because the log was not read fast enough.")
    static let processCPU = Self(
        "process_cpu_seconds_total", .counter,
        "Total user and system CPU time spent in seconds.")
    static let processStart = Self(
        "process_start_time_seconds", .gauge,
        "Start time of the process since unix epoch in seconds.")
    static let processResident = Self("process_resident_memory_bytes", .gauge, "Resident memory size in bytes.")
    static let processVirtual = Self("process_virtual_memory_bytes", .gauge, "Virtual memory size in bytes.")
    static let processThreads = Self("process_threads", .gauge, "Threads.")
    static let processOpenFiles = Self("process_open_fds", .gauge, "Number of open file descriptors.")
    static let processMaximumFiles = Self("process_max_fds", .gauge, "Maximum number of open file descriptors.")

    /// The families that ``EventCounters`` counts and exports: counters without labels.
    package static let events: [MetricFamily] = [
        .recoveredNotifications, .reconciledNotifications, .reconciledCustomers, .reconciledDifferences,
        .reconciledRefunds, .reconciliationFailures,
    ]

    /// Every family, in the order of the output.
    package static let all: [MetricFamily] =
        [
            .buildInfo, .ready, .httpRequests, .httpDurations, .httpConnections, .rejectedClients, .handshakes,
            .certificateExpiry, .responses, .responseDurations, .authenticationFailures, .repairs, .revocations,
            .recordCache, .responseCache, .leftOutMembers,
            .upstreamRequests, .upstreamDurations, .circuitOpen, .circuitOpened, .upstreamInFlight, .upstreamRefused,
            .callsLeft, .callsPerHour, .notifications, .rejectedNotifications, .droppedHints,
            .deliveries, .deliveriesWaiting, .deliveriesDead, .deliveryLimit, .orderLookups, .consumptionOpen,
            .consumptionDeadline, .refundDecisions, .reconciliationEnd, .comparisons, .differences, .comparisonsWaiting,
            .rolloutShare, .rolloutStopped, .rolloutCustomers, .rolloutResponses, .storeOpen, .storeWritesWaiting,
            .storeWrites, .storeErrors, .droppedLogLines, .processCPU, .processStart,
            .processResident, .processVirtual, .processThreads, .processOpenFiles, .processMaximumFiles,
        ] + events
}
