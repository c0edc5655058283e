package import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import ReceiptBridgeStorage
import Synchronization

/// All counters of the proxy since the start of the process. One instance is passed on to every service that a reload
/// creates, so that a new configuration does not reset the counters.
package final class ProxyMetrics: Sendable {
    /// Events that are counted without labels, by ``MetricEvent``.
    package let events = CounterTable(MetricEvent.texts)
    /// Notifications that were accepted, by ``NotificationLabel``.
    package let notifications = CounterTable(NotificationLabel.texts)
    /// Members of Apple's records that were left out because their type is unexpected, by name.
    package let leftOut = CounterTable(ClaimReader.names)
    /// Requests to Apple, by endpoint and outcome.
    package let upstream = UpstreamMetrics()
    /// Server API lookups by whether ``RecordsAtHand`` had the records, by ``HitLabel``.
    package let recordCache = CounterTable(HitLabel.texts)
    /// Denials that the App Store was asked about, by ``ConfirmationLabel``.
    package let confirmations = CounterTable(ConfirmationLabel.texts)
    /// Requests by whether ``ResponseCache`` had the response, by ``HitLabel``.
    package let responseCache = CounterTable(HitLabel.texts)
    /// Receipts that were not authenticated here, by ``ReceiptDecodingError/Code``.
    package let authenticationFailures = CounterTable(ReceiptDecodingError.Code.texts)
    /// ``authenticationFailures`` with the verdict of each code.
    package var failuresByVerdict: [(reason: String, verdict: String, count: Int64)] {
        ReceiptDecodingError.Code.allCases.map { ($0.text, $0.verdict.rawValue, authenticationFailures.count($0)) }
    }
    /// Refused receipts that `profile: tolerant` would have accepted, by each repair that it would have made.
    package let repairs = CounterTable(ReceiptRepair.texts)
    /// Time from the request body to the verifyReceipt response, by ``AnswerSource``.
    package let durations = AnswerSource.allCases.map { _ in Histogram() }
    /// What Apple has rejected of the configuration.
    package let rejectedCredentials = RejectedCredentials()
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
}

/// The counters of one app since the start of the process.
package final class AppMetrics: Sendable {
    /// verifyReceipt responses by ``StatusLabel``, ``AnswerSource`` and ``AppStoreEnvironment``.
    package let verdicts = CounterTable(StatusLabel.texts, AnswerSource.texts, AppStoreEnvironment.texts)
    /// Purchases that became known as revoked, by ``AppStoreEnvironment``.
    package let revocations = CounterTable(AppStoreEnvironment.texts)
    /// Attempts to forward a notification, by ``DeliveryLabel``.
    package let deliveries = CounterTable(DeliveryLabel.texts)
    /// Shadow comparisons by ``ComparisonLabel``.
    package let comparisons = CounterTable(ComparisonLabel.texts)
    /// Responses of a rollout by ``RolloutLabel``.
    package let rolloutResponses = CounterTable(RolloutLabel.texts)
    /// Differences that shadow comparisons found, by ``DifferenceLabel``.
    package let differences = CounterTable(DifferenceLabel.texts)
    /// Decisions about purchases that Apple asked about, by ``RefundDecision``.
    package let refundDecisions = CounterTable(RefundDecision.texts)
}

/// The counters of the configured apps. All other apps share one set of counters, so that requests cannot create new
/// label values.
package struct AppMetricsRegistry: Sendable {
    let apps: [BundleIdentifier: AppMetrics]
    let others: AppMetrics

    package subscript(_ bundleId: BundleIdentifier?) -> AppMetrics { bundleId.flatMap { apps[$0] } ?? others }
}
