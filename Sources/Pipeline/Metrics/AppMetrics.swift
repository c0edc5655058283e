import Rendering
package import StoreTypes
package import Telemetry

/// The counters of one app since the start of the process.
package final class AppMetrics: Sendable {
    /// verifyReceipt responses by ``StatusLabel``, ``SourceLabel`` and ``EnvironmentLabel``.
    package let verdicts = CounterTable(
        "status", StatusLabel.self, "source", SourceLabel.self, "environment", EnvironmentLabel.self)
    /// Purchases that became known as revoked, by ``EnvironmentLabel``.
    package let revocations = CounterTable("environment", EnvironmentLabel.self)
    /// Attempts to forward a notification, by ``DeliveryLabel``.
    package let deliveries = CounterTable("outcome", DeliveryLabel.self)
    /// Shadow comparisons by ``ComparisonLabel``.
    package let comparisons = CounterTable("outcome", ComparisonLabel.self)
    /// Differences that shadow comparisons found, by ``DifferenceLabel``.
    package let differences = CounterTable("class", DifferenceLabel.self)

    /// Counts a response.
    package func answered(_ reply: VerifyReceiptResult) {
        verdicts.add(
            StatusLabel(reply.answer.status).rawValue, SourceLabel(reply.source).rawValue,
            EnvironmentLabel(reply.environment).rawValue)
    }

    /// Counts revoked purchases.
    func revoked(in environment: AppStoreEnvironment, count: Int) {
        revocations.add(EnvironmentLabel(environment).rawValue, by: Int64(count))
    }
}

/// The counters of the configured apps. All other apps share one set of counters, so that requests cannot create new
/// label values.
package struct AppMetricsRegistry: Sendable {
    let apps: [BundleIdentifier: AppMetrics]
    let others: AppMetrics

    package subscript(_ bundleId: BundleIdentifier?) -> AppMetrics {
        bundleId.flatMap { apps[$0] } ?? others
    }
}
