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

    package init(_ name: String, _ kind: MetricsText.Kind, _ help: String, labels: [String] = []) {
        (self.name, self.kind, self.help, self.labels) = (name, kind, help, labels)
    }
}

extension MetricFamily {
    /// The beginning of the names of this program's families.
    private static let prefix = "receipt_bridge_"

    private static func counter(_ name: String, _ help: String, by labels: String...) -> Self {
        Self("\(prefix)\(name)_total", .counter, help, labels: labels)
    }

    private static func gauge(_ name: String, _ help: String, by labels: String...) -> Self {
        Self(prefix + name, .gauge, help, labels: labels)
    }

    private static func histogram(_ name: String, _ help: String, by labels: String...) -> Self {
        Self(prefix + name, .histogram, help, labels: labels)
    }
}

/// All metric families of the server. A name in the output has the prefix `receipt_bridge_`, and that of a counter the
/// suffix `_total`. The families of the process have the names of Prometheus's client libraries.
extension MetricFamily {
    package static let buildInfo = gauge(
        "build_info", "Always 1; the label is the version of the program.", by: "version")
    package static let ready = gauge("ready", "1 if the server is ready for requests, otherwise 0.")
    package static let httpRequests = counter(
        "http_requests", "Requests, by route and HTTP status.", by: "route", "status")
    package static let httpDurations = histogram(
        "http_request_duration_seconds",
        "Time from the head of a request to the head of its response, in seconds.", by: "route")
    package static let httpConnections = gauge(
        "http_connections", "Open HTTP connections, by listener.", by: "listener")
    package static let rejectedClients = counter(
        "clients_turned_away",
        "Requests and connections rejected because their client exceeded a limit, by configuration key.", by: "limit")
    package static let handshakes = counter(
        "tls_handshakes", "TLS handshakes of the public listener, by outcome.", by: "outcome")
    package static let certificateExpiry = gauge(
        "tls_certificate_not_after_seconds",
        "Expiry of the public listener's certificate, in seconds since 1970; absent if it has none.")
    package static let responses = counter(
        "verdicts",
        "verifyReceipt responses, by app, status, source and environment.",
        by: "app", "status", "source", "environment")
    package static let responseDurations = histogram(
        "verdict_duration_seconds",
        "Time from a request's body to its verifyReceipt response in seconds, by source.", by: "source")
    package static let authenticationFailures = counter(
        "authentication_failed",
        "Receipts that were not authenticated here, by reason; notJudged is neither proven forged nor proven not a receipt.",
        by: "reason", "verdict")
    package static let repairs = counter(
        "would_repair",
        "Rejected receipts that the tolerant profile would have accepted, by repair; at most 10 per second are checked.",
        by: "repair")
    package static let revocations = counter(
        "revocations_seen", "Purchases that were reported as refunded or revoked.", by: "app", "environment")
    package static let denialConfirmations = counter(
        "denial_confirmations", "Denials that the App Store was asked about, by what it says.", by: "result")
    package static let recordCache = counter(
        "record_cache_requests", "Lookups in the record cache, by hit or miss.", by: "result")
    package static let responseCache = counter(
        "answer_memory_requests", "Lookups in the response cache, by hit or miss.", by: "result")
    package static let leftOutMembers = counter(
        "unexpected_types",
        "Members of the App Store's records that were left out because their type is unexpected, by name.",
        by: "member")
    package static let upstreamRequests = counter(
        "upstream_requests",
        "Exchanges with Apple by endpoint, environment and outcome.", by: "endpoint", "environment", "outcome")
    package static let upstreamDurations = histogram(
        "upstream_request_duration_seconds",
        "Duration of exchanges with Apple in seconds.", by: "endpoint", "environment")
    package static let foreignRecords = counter(
        "foreign_records",
        "Records in the App Store's answers that were left out because they are signed for another app or environment.",
        by: "environment")
    package static let circuitOpen = gauge(
        "upstream_circuit_open", "1 if the host's circuit breaker is open or half-open, otherwise 0.", by: "host")
    package static let circuitOpened = counter(
        "upstream_circuit_opened", "Times the host's circuit breaker opened.", by: "host")
    package static let upstreamInFlight = gauge(
        "upstream_under_way", "Upstream requests in flight, including those waiting for a connection.", by: "host")
    package static let upstreamRefused = counter(
        "upstream_refused",
        "Upstream requests not sent because the circuit breaker was open or the retry budget used up.",
        by: "host", "reason")
    package static let callsLeft = gauge(
        "server_api_calls_left",
        "App Store Server API calls left in the hourly budget.", by: "app", "endpoint", "environment")
    package static let callsPerHour = gauge(
        "server_api_calls_per_hour",
        "Hourly budget of App Store Server API calls.", by: "app", "endpoint", "environment")
    package static let notifications = counter(
        "notifications", "App Store notifications that were accepted.", by: "outcome")
    package static let rejectedNotifications = counter(
        "notifications_refused", "App Store notifications that were rejected, by error code.", by: "code")
    package static let droppedHints = counter(
        "notification_hints_dropped",
        "Lookups for version 1 notifications that were dropped because too many were in flight.")
    package static let recoveredNotifications = counter(
        "notifications_recovered",
        "Notifications that were refused while the store was unavailable, and fetched from the history afterwards.")
    package static let reconciledNotifications = counter(
        "reconciliation_notifications",
        "Notifications that reconciliations found in Apple's history and that were not stored before.")
    package static let reconciledCustomers = counter(
        "reconciliation_customers", "Customers that reconciliations looked up.")
    package static let reconciledDifferences = counter(
        "reconciliation_differences",
        "Customers whose records differed from the App Store's when a reconciliation looked them up.")
    package static let reconciledRefunds = counter(
        "reconciliation_refunds", "Refunds that reconciliations found and that were not known.")
    package static let reconciliationFailures = counter(
        "reconciliation_failures", "Customers and notification histories that reconciliations could not ask about.")
    package static let rejectedSecrets = counter(
        "shared_secret_rejected",
        "Responses 21004 of Apple's to the configured shared secret; the requests went to the next source.")
    package static let customersToLookUp = gauge(
        "customers_to_look_up",
        "Customers whose stored records may lack something and who are being looked up; absent without a store.")
    package static let reconciliationEnd = gauge(
        "reconciliation_last_end_seconds",
        "End of the last complete reconciliation of any server, in seconds since 1970; 0 if none has ended yet, absent without reconcile."
    )
    package static let deliveries = counter(
        "forwarding_deliveries", "Attempts to forward a notification, by outcome.", by: "app", "outcome")
    package static let deliveriesWaiting = gauge(
        "forwarding_waiting", "Deliveries that wait for their first attempt or a retry.", by: "app")
    package static let deliveriesDead = gauge(
        "forwarding_dead", "Deliveries that failed for good and are not retried.", by: "app")
    package static let deliveryLimit = gauge(
        "forwarding_concurrency",
        "Deliveries to a target that may be in flight at this server, as it adapts to the target.",
        by: "app", "host", "as")
    package static let consumptionOpen = gauge(
        "consumption_requests_open",
        "Apple's requests for consumption information that were neither answered nor decided and whose 12 hours are not over.",
        by: "app", "environment")
    package static let consumptionDeadline = gauge(
        "consumption_deadline_seconds",
        "End of the 12 hours of the oldest open request for consumption information, in seconds since 1970.",
        by: "app", "environment")
    package static let refundDecisions = counter(
        "refund_decisions",
        "Decisions about purchases that Apple asked about: from a notification, or found 48 hours after the request.",
        by: "app", "decision")
    package static let comparisons = counter(
        "shadow_comparisons", "Comparisons with the second source, by outcome.", by: "app", "outcome")
    package static let differences = counter(
        "shadow_differences", "Differences found by comparisons, by class.", by: "app", "class")
    package static let comparisonsWaiting = gauge("shadow_waiting", "Comparisons waiting in the queue.")
    package static let rolloutShare = gauge(
        "rollout_share", "Share of the customers that a rollout answers now, from 0 to 1.", by: "app")
    package static let rolloutStopped = gauge(
        "rollout_stopped", "1 if the rollout has stopped because too many customers differ, otherwise 0.", by: "app")
    package static let rolloutCustomers = gauge(
        "rollout_customers",
        "Customers that were compared during the rollout, of all servers, by result.", by: "app", "result")
    package static let rolloutResponses = counter(
        "rollout_responses",
        "Responses to customers of a rollout, by the outcome of their comparison.", by: "app", "outcome")
    package static let storeOpen = gauge(
        "store_open", "1 if the configured store is open, otherwise 0; absent if no store is configured.")
    package static let storeClockDifference = gauge(
        "store_clock_difference_seconds",
        "Seconds by which the database's clock is ahead of this machine's, negative if behind; absent with SQLite.")
    package static let storeWritesWaiting = gauge("store_writes_waiting", "Writes waiting for the disk.")
    package static let storeWrites = counter("store_writes", "Writes that are on disk.")
    package static let storeErrors = counter(
        "store_errors", "Failed reads and writes of the store, by error code.", by: "code")
    package static let droppedLogLines = counter(
        "log_lines_dropped", "Log lines that were dropped because the log was not read fast enough.")
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
        .reconciledRefunds, .reconciliationFailures, .rejectedSecrets,
    ]

    /// Every family, in the order of the output.
    package static let all: [MetricFamily] =
        [
            .buildInfo, .ready, .httpRequests, .httpDurations, .httpConnections, .rejectedClients, .handshakes,
            .certificateExpiry, .responses, .responseDurations, .authenticationFailures, .repairs, .revocations,
            .denialConfirmations, .recordCache, .responseCache, .leftOutMembers,
            .upstreamRequests, .upstreamDurations, .foreignRecords, .circuitOpen, .circuitOpened, .upstreamInFlight,
            .upstreamRefused,
            .callsLeft, .callsPerHour, .notifications, .rejectedNotifications, .droppedHints,
            .deliveries, .deliveriesWaiting, .deliveriesDead, .deliveryLimit, .consumptionOpen,
            .consumptionDeadline, .refundDecisions, .reconciliationEnd, .customersToLookUp, .comparisons, .differences,
            .comparisonsWaiting, .rolloutShare, .rolloutStopped, .rolloutCustomers, .rolloutResponses, .storeOpen,
            .storeWritesWaiting, .storeWrites, .storeErrors, .storeClockDifference, .droppedLogLines, .processCPU,
            .processStart,
            .processResident, .processVirtual, .processThreads, .processOpenFiles, .processMaximumFiles,
        ] + events
}
