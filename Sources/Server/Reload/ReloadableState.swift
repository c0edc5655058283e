import HTTPTypes
package import Pipeline
import Synchronization

/// The configuration and pipelines that serve new requests. A reload replaces both at once; a request that is in
/// progress continues with the ones it started with.
package final class ReloadableState: Sendable {
    /// A configuration and the pipelines made from it.
    package final class Snapshot: Sendable {
        package let settings: ProxyConfiguration
        package let pipelines: ServiceGraph
        /// Whether any app compares its sources in the background (`shadow`).
        let isShadowed: Bool
        /// The header in which a caller names its user; `nil` if none is configured.
        let userHeader: HTTPField.Name?

        init(settings: ProxyConfiguration, pipelines: ServiceGraph) {
            self.settings = settings
            self.pipelines = pipelines
            userHeader = settings.userHeader.flatMap { HTTPField.Name($0) }
            isShadowed = settings.apps.contains { $0.shadow != nil }
        }
    }

    private let snapshot: Mutex<Snapshot>

    init(settings: ProxyConfiguration, pipelines: ServiceGraph) {
        snapshot = Mutex(Snapshot(settings: settings, pipelines: pipelines))
    }

    /// The current snapshot.
    package var now: Snapshot { snapshot.withLock { $0 } }

    /// Replaces the current snapshot.
    func exchange(settings: ProxyConfiguration, pipelines: ServiceGraph) {
        let new = Snapshot(settings: settings, pipelines: pipelines)
        snapshot.withLock { $0 = new }
    }
}
