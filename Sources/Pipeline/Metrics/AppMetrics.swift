import Rendering
package import StoreTypes
package import Telemetry

/// What is counted of one app since the start.
package final class AppMetrics: Sendable {
    /// By ``StatusLabel``, ``SourceLabel`` and ``EnvironmentLabel``.
    package let verdicts = CounterTable(
        "status", StatusLabel.self, "source", SourceLabel.self, "environment", EnvironmentLabel.self)
    /// Purchases that became known as taken back, by ``EnvironmentLabel``.
    package let revocations = CounterTable("environment", EnvironmentLabel.self)
    /// Attempts to forward, by ``DeliveryLabel``.
    package let deliveries = CounterTable("outcome", DeliveryLabel.self)
    /// By ``ComparisonLabel``.
    package let comparisons = CounterTable("outcome", ComparisonLabel.self)
    /// By ``DifferenceLabel``.
    package let differences = CounterTable("class", DifferenceLabel.self)

    package func answered(_ reply: VerifyReceiptResult) {
        verdicts.add(
            StatusLabel(reply.answer.status).rawValue, SourceLabel(reply.source).rawValue,
            EnvironmentLabel(reply.environment).rawValue)
    }

    func revoked(in environment: AppStoreEnvironment, count: Int) {
        revocations.add(EnvironmentLabel(environment).rawValue, by: Int64(count))
    }
}

/// The counts of the configured apps; all others are counted together, so that nobody outside can make new labels.
package struct AppMetricsRegistry: Sendable {
    let apps: [BundleIdentifier: AppMetrics]
    let others: AppMetrics

    package subscript(_ bundleId: BundleIdentifier?) -> AppMetrics {
        bundleId.flatMap { apps[$0] } ?? others
    }
}
