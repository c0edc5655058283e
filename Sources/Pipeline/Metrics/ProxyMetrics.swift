package import AppStore
import ReceiptDecoding
package import StoreTypes
import Synchronization
package import Telemetry

/// Everything that the walks count since the process began. Made once and handed to whoever is made anew, so that a new
/// configuration does not begin at 0.
package final class ProxyMetrics: Sendable {
    package let upstream = UpstreamMetrics()
    package let notifications = NotificationCounts()
    /// Look-ups that ``CustomerRecordsCache`` saved, or did not, by ``HitLabel``.
    package let recordCache = CounterTable("result", HitLabel.self)
    /// Requests that ``ResponseCache`` answered, or did not, by ``HitLabel``.
    package let answerMemory = CounterTable("result", HitLabel.self)
    /// Receipts that were refused and that `profile: tolerant` would have taken, by each thing it would have mended.
    package let repairs = CounterTable("repair", ReceiptRepair.allCases.map(\.rawValue))
    /// From the body to the verdict, by ``SourceLabel``.
    package let durations = SourceLabel.allCases.map { _ in Histogram() }
    /// Of what no configured app is concerned with.
    package let others = AppMetrics()
    /// Grows with configurations, never with requests.
    private let apps = Mutex<[BundleIdentifier: AppMetrics]>([:])

    package init() {}

    /// The counts of the configured apps, which go on where they were.
    package func apps(of settings: ProxyConfiguration) -> AppMetricsRegistry {
        let names = settings.apps.compactMap(\.bundleId)
        return apps.withLock { apps in
            for name in names where apps[name] == nil { apps[name] = AppMetrics() }
            return AppMetricsRegistry(apps: apps.filter { names.contains($0.key) }, others: others)
        }
    }

    /// Of one app; for those who live longer than a configuration.
    package subscript(_ bundleId: BundleIdentifier) -> AppMetrics { apps.withLock { $0[bundleId] } ?? others }

    /// By the names of their labels, in order; all that are not configured are `other`.
    package var labelled: [(app: String, counts: AppMetrics)] {
        let named = apps.withLock { $0 }.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
        return named + [("other", others)]
    }

    package func took(_ duration: Duration, for reply: VerifyReceiptResult) {
        durations[SourceLabel(reply.source).rawValue].observe(duration)
    }

    func wouldMend(_ repairsOfOne: [ReceiptRepair]) {
        for repair in Set(repairsOfOne) {
            if let place = ReceiptRepair.allCases.firstIndex(of: repair) { repairs.add(place) }
        }
    }
}
