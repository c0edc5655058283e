package import ReceiptBridgeBase

/// The metrics of exchanges with Apple: their number by outcome, and their durations.
package final class UpstreamMetrics: Sendable {
    /// The row keys. `nil` stands for verifyReceipt.
    private static let endpoints: [ServerAPIEndpoint?] = [nil] + ServerAPIEndpoint.all
    private static let environments = [AppStoreEnvironment.production, .sandbox]

    private let cells: [Row]
    /// Records that were left out because the App Store signed them for another app or environment, by the
    /// ``AppStoreEnvironment`` that was asked.
    package let foreignRecords = CounterTable(AppStoreEnvironment.texts)

    package init() {
        cells = Self.endpoints.flatMap { endpoint in
            Self.environments.map { environment in
                Row(
                    endpoint: endpoint?.name ?? "verifyReceipt", environment: environment,
                    outcomes: CounterTable(UpstreamOutcome.texts), duration: Histogram())
            }
        }
    }

    /// Counts one exchange with an endpoint, or with verifyReceipt (`nil`). Its duration, from sending the request to
    /// the end of the response, is not recorded if it was canceled or not sent.
    func recordExchange(
        with endpoint: ServerAPIEndpoint?, _ environment: AppStoreEnvironment, _ outcome: UpstreamOutcome,
        after duration: Duration
    ) {
        guard let row = Self.endpoints.firstIndex(of: endpoint),
            let column = Self.environments.firstIndex(of: environment)
        else { return }
        let cell = cells[row * Self.environments.count + column]
        cell.outcomes.add(outcome)
        if outcome != .cancelled, outcome != .notSent { cell.duration.observe(duration) }
    }

    /// The metrics of one endpoint in one environment.
    package struct Row: Sendable {
        /// `verifyReceipt`, or the name of the Server API endpoint.
        package let endpoint: String
        package let environment: AppStoreEnvironment
        package let outcomes: CounterTable
        package let duration: Histogram

        /// The number of exchanges, without those that were canceled.
        package var asked: Int64 { outcomes.total - outcomes.count(UpstreamOutcome.cancelled) }

        /// The number of usable responses, including those that report an unknown identifier.
        package var answered: Int64 {
            outcomes.count(UpstreamOutcome.answered) + outcomes.count(UpstreamOutcome.notFound)
        }
    }

    /// The endpoints and environments with at least one exchange.
    package var rows: [Row] { cells.filter { $0.outcomes.total > 0 } }

    package func write(into text: inout MetricsText) {
        text.family(.upstreamRequests)
        for row in cells { text.samples(.upstreamRequests, row.labels, of: row.outcomes) }
        text.family(.upstreamDurations)
        for row in cells { text.samples(.upstreamDurations, row.labels, of: row.duration, omitsEmpty: true) }
        text.family(.foreignRecords, of: foreignRecords)
    }
}

extension UpstreamMetrics.Row {
    fileprivate var labels: [String] { [endpoint, environment.rawValue] }
}

/// The outcome of one exchange with Apple, as a metric label.
package enum UpstreamOutcome: MetricLabel {
    /// A usable response, whatever its content.
    case answered
    /// 404 from the App Store Server API with an error number: the identifier is unknown to it.
    case notFound
    /// HTTP status 401.
    case unauthorized
    /// HTTP status 429.
    case rateLimited
    /// Any other HTTP status below 500.
    case refused
    /// HTTP status 500 or above.
    case serverError
    case timedOut
    /// Name resolution, connecting or the TLS handshake failed.
    case notConnected
    /// The connection broke before the response was complete.
    case brokenOff
    /// The response is unusable: not JSON, without a status, or not signed by Apple.
    case notUnderstood
    /// The client disconnected, so the exchange was canceled.
    case cancelled
    /// The request was not sent: the queue is full, the circuit breaker is open, the retry budget is used up, Apple
    /// asked for a pause, or the transport is shut down.
    case notSent
    case failed

    /// Outcomes by the codes of ``UpstreamError``, for errors without an HTTP status.
    private static let codes: [String: Self] = [
        "timedOut": .timedOut, "deadline": .timedOut, "nameNotResolved": .notConnected, "connectFailed": .notConnected,
        "tlsFailed": .notConnected, "connectionReset": .brokenOff, "emptyReply": .brokenOff, "truncated": .brokenOff,
        "responseTooLarge": .notUnderstood, "protocolError": .notUnderstood, "emptyBody": .notUnderstood,
        "notJSON": .notUnderstood, "noStatus": .notUnderstood, "noReceipt": .notUnderstood,
        "malformedAnswer": .notUnderstood, "notAuthentic": .notUnderstood, "cancelled": .cancelled,
        "noConnection": .notSent, "shutDown": .notSent, "circuitOpen": .notSent, "tooManyRepetitions": .notSent,
        "rateLimited": .notSent,
    ]

    init(_ reply: Result<AppleResponse, UpstreamError>) {
        switch reply {
        case .success: self = .answered
        case .failure(let error): self.init(error)
        }
    }

    init(_ error: UpstreamError) {
        switch error.httpStatus {
        case 404 where error.errorNumber != nil: self = .notFound
        case 401: self = .unauthorized
        case 429: self = .rateLimited
        case let status? where status >= 500: self = .serverError
        case let status? where status >= 300: self = .refused
        default: self = Self.codes[error.code.rawValue] ?? .failed
        }
    }
}

extension AppStoreEnvironment: MetricLabel {
    /// Data of Xcode is never trusted and never requested.
    package static var texts: [String] { [production.text, sandbox.text] }
}
