package import StoreTypes
package import Telemetry

/// Exchanges with Apple since the start: how many, what came of them, how long they took.
package final class UpstreamMetrics: Sendable {
    /// Nil is verifyReceipt.
    private static let endpoints: [ServerAPIEndpoint?] = [nil] + ServerAPIEndpoint.all
    private static let environments = AppStoreEnvironment.allCases

    private let outcomes: [CounterTable]
    private let durations: [Histogram]

    package init() {
        let places = Self.endpoints.count * Self.environments.count
        outcomes = (0..<places).map { _ in CounterTable("outcome", UpstreamOutcome.self) }
        durations = (0..<places).map { _ in Histogram() }
    }

    /// - Parameter endpoint: of the Server API; nil for verifyReceipt.
    package func exchanged(
        with endpoint: ServerAPIEndpoint?, _ environment: AppStoreEnvironment, _ outcome: UpstreamOutcome,
        after duration: Duration
    ) {
        guard let row = Self.endpoints.firstIndex(of: endpoint),
            let column = Self.environments.firstIndex(of: environment)
        else { return }
        let place = row * Self.environments.count + column
        outcomes[place].add(outcome.rawValue)
        if outcome != .cancelled, outcome != .notSent { durations[place].observe(duration) }
    }

    /// One endpoint in one environment, where it was ever asked.
    package struct Row: Sendable {
        /// `verifyReceipt`, or the endpoint's name.
        package let endpoint: String
        package let environment: AppStoreEnvironment
        package let outcomes: CounterTable
        package let duration: Histogram

        /// All but those that nobody waited for.
        package var asked: Int64 { outcomes.total - outcomes.count(UpstreamOutcome.cancelled.rawValue) }

        /// Answers, be it that nothing is known.
        package var answered: Int64 {
            outcomes.count(UpstreamOutcome.answered.rawValue) + outcomes.count(UpstreamOutcome.notFound.rawValue)
        }
    }

    /// Those that were ever asked.
    package var rows: [Row] {
        Self.endpoints.enumerated().flatMap { row, endpoint in
            Self.environments.enumerated().compactMap { column, environment in
                let place = row * Self.environments.count + column
                guard outcomes[place].total > 0 else { return nil }
                return Row(
                    endpoint: endpoint?.name ?? "verifyReceipt", environment: environment, outcomes: outcomes[place],
                    duration: durations[place])
            }
        }
    }

    package func write(into text: inout MetricsText) {
        let rows = rows
        let exchanges = "receipt_bridge_upstream_requests_total"
        text.family(exchanges, .counter, "Exchanges with Apple, by endpoint, environment and what came of them.")
        for row in rows { text.samples(exchanges, row.labels, of: row.outcomes) }
        let duration = "receipt_bridge_upstream_request_duration_seconds"
        text.family(duration, .histogram, "How long exchanges with Apple took.")
        for row in rows { text.samples(duration, row.labels, of: row.duration) }
    }
}

extension UpstreamMetrics.Row {
    fileprivate var labels: MetricsText.Labels {
        [("endpoint", endpoint), ("environment", environment.rawValue)]
    }
}
