package import StoreTypes
package import Telemetry

/// The metrics of exchanges with Apple: their number by outcome, and their durations.
package final class UpstreamMetrics: Sendable {
    /// The row keys. `nil` stands for verifyReceipt.
    private static let endpoints: [ServerAPIEndpoint?] = [nil] + ServerAPIEndpoint.all
    private static let environments = AppStoreEnvironment.allCases

    private let outcomes: [CounterTable]
    private let durations: [Histogram]

    package init() {
        let count = Self.endpoints.count * Self.environments.count
        outcomes = (0..<count).map { _ in CounterTable("outcome", UpstreamOutcome.self) }
        durations = (0..<count).map { _ in Histogram() }
    }

    /// Counts one exchange. Its duration is not recorded if it was canceled or not sent.
    ///
    /// - Parameters:
    ///   - endpoint: The Server API endpoint, or `nil` for verifyReceipt.
    ///   - environment: The App Store environment.
    ///   - outcome: The outcome of the exchange.
    ///   - duration: The time from sending the request to the end of the response.
    package func recordExchange(
        with endpoint: ServerAPIEndpoint?, _ environment: AppStoreEnvironment, _ outcome: UpstreamOutcome,
        after duration: Duration
    ) {
        guard let row = Self.endpoints.firstIndex(of: endpoint),
            let column = Self.environments.firstIndex(of: environment)
        else { return }
        let index = row * Self.environments.count + column
        outcomes[index].add(outcome.rawValue)
        if outcome != .cancelled, outcome != .notSent { durations[index].observe(duration) }
    }

    /// The metrics of one endpoint in one environment.
    package struct Row: Sendable {
        /// `verifyReceipt`, or the name of the Server API endpoint.
        package let endpoint: String
        package let environment: AppStoreEnvironment
        package let outcomes: CounterTable
        package let duration: Histogram

        /// The number of exchanges, without those that were canceled.
        package var asked: Int64 { outcomes.total - outcomes.count(UpstreamOutcome.cancelled.rawValue) }

        /// The number of usable responses, including those that report an unknown identifier.
        package var answered: Int64 {
            outcomes.count(UpstreamOutcome.answered.rawValue) + outcomes.count(UpstreamOutcome.notFound.rawValue)
        }
    }

    /// The endpoints and environments with at least one exchange.
    package var rows: [Row] {
        Self.endpoints.enumerated().flatMap { row, endpoint in
            Self.environments.enumerated().compactMap { column, environment in
                let index = row * Self.environments.count + column
                guard outcomes[index].total > 0 else { return nil }
                return Row(
                    endpoint: endpoint?.name ?? "verifyReceipt", environment: environment, outcomes: outcomes[index],
                    duration: durations[index])
            }
        }
    }

    /// Writes all rows as metric families.
    package func write(into text: inout MetricsText) {
        let rows = rows
        let exchanges = "receipt_bridge_upstream_requests_total"
        text.family(exchanges, .counter, "Exchanges with Apple by endpoint, environment and outcome.")
        for row in rows { text.samples(exchanges, row.labels, of: row.outcomes) }
        let duration = "receipt_bridge_upstream_request_duration_seconds"
        text.family(duration, .histogram, "Duration of exchanges with Apple in seconds.")
        for row in rows { text.samples(duration, row.labels, of: row.duration) }
    }
}

extension UpstreamMetrics.Row {
    fileprivate var labels: MetricsText.Labels {
        [("endpoint", endpoint), ("environment", environment.rawValue)]
    }
}
