package import AppStoreClients
package import Base
package import BridgeConfiguration
import ReceiptDecoding
import Responses
import Synchronization
package import Telemetry

/// All counters of the proxy since the start of the process. One instance is passed on to every service that a reload
/// creates, so that a new configuration does not reset the counters.
package final class ProxyMetrics: Sendable {
    /// Events that are counted without labels.
    package let events = EventCounters()
    /// Members of Apple's records that were left out because their type is unexpected, by name.
    package let leftOut = NamedCounters()
    /// Requests to Apple, by endpoint and outcome.
    package let upstream = UpstreamMetrics()
    /// Server API lookups by whether ``CustomerRecordsCache`` had the records, by ``HitLabel``.
    package let recordCache = CounterTable("result", HitLabel.self)
    /// Requests by whether ``ResponseCache`` had the response, by ``HitLabel``.
    package let responseCache = CounterTable("result", HitLabel.self)
    /// Receipts that were not authenticated here, by ``ReceiptDecodingError/Code`` and ``VerdictLabel``.
    package let authenticationFailures = CounterTable(
        "reason", ReceiptDecodingError.Code.allCases.map(\.rawValue), "verdict", VerdictLabel.self)
    /// Refused receipts that `profile: tolerant` would have accepted, by each repair that it would have made.
    package let repairs = CounterTable("repair", ReceiptRepair.allCases.map(\.rawValue))
    /// Time from the request body to the verifyReceipt response, by ``SourceLabel``.
    package let durations = SourceLabel.allCases.map { _ in Histogram() }
    /// What arrived of apps that are not configured.
    let unconfiguredApps = UnconfiguredApps()
    /// Counters of everything that belongs to no configured app.
    package let others = AppMetrics()
    /// Counters of each app that was ever configured. Its size depends on configurations, never on requests.
    private let apps = Mutex<[BundleIdentifier: AppMetrics]>([:])

    package init() {}

    /// Returns the counters of the configured apps. An app that was configured before keeps its counts.
    package func apps(of settings: ProxyConfiguration) -> AppMetricsRegistry {
        let names = settings.apps.compactMap(\.bundleId)
        return apps.withLock { apps in
            for name in names where apps[name] == nil { apps[name] = AppMetrics() }
            return AppMetricsRegistry(apps: apps.filter { names.contains($0.key) }, others: others)
        }
    }

    /// The counters of one app, for objects that outlive a configuration.
    package subscript(_ bundleId: BundleIdentifier) -> AppMetrics { apps.withLock { $0[bundleId] } ?? others }

    /// All counters with the value of their label `app`, sorted; apps that are not configured share `other`.
    package var labelled: [(app: String, counts: AppMetrics)] {
        let named = apps.withLock { $0 }.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
        return named + [("other", others)]
    }

    /// Records the duration of a request.
    func recordDuration(_ duration: Duration, for reply: VerifyReceiptResult) {
        durations[SourceLabel(reply.source).rawValue].observe(duration)
    }

    /// Counts a receipt that was not authenticated.
    func recordAuthenticationFailure(_ code: ReceiptDecodingError.Code) {
        guard let index = ReceiptDecodingError.Code.allCases.firstIndex(of: code) else { return }
        authenticationFailures.add(index, VerdictLabel(code.verdict).rawValue)
    }

    /// Counts a refused receipt under each repair that `profile: tolerant` would have made, once a kind.
    func recordRepairs(_ repairsOfOne: [ReceiptRepair]) {
        for repair in Set(repairsOfOne) {
            if let index = ReceiptRepair.allCases.firstIndex(of: repair) { repairs.add(index) }
        }
    }
}

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
    /// Responses of a rollout by ``RolloutLabel``.
    package let rolloutResponses = CounterTable("outcome", RolloutLabel.self)
    /// Differences that shadow comparisons found, by ``DifferenceLabel``.
    package let differences = CounterTable("class", DifferenceLabel.self)
    /// Decisions about purchases that Apple asked about, by ``RefundDecisionLabel``.
    package let refundDecisions = CounterTable("decision", RefundDecisionLabel.self)
    /// Lookups of orders by ``OrderLabel``, and by whether the order was asked for before.
    package let orders = CounterTable("outcome", OrderLabel.self, "repeated", RepetitionLabel.self)

    /// Counts a response.
    package func recordResponse(_ reply: VerifyReceiptResult) {
        verdicts.add(
            StatusLabel(reply.answer.status).rawValue, SourceLabel(reply.source).rawValue,
            EnvironmentLabel(reply.environment).rawValue)
    }

    /// Counts revoked purchases.
    func recordRevocations(in environment: AppStoreEnvironment, count: Int) {
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
