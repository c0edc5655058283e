import HTTPTypes
package import Pipeline
import Synchronization

/// What requests are answered by now. A new configuration exchanges it as a whole; a request that has begun ends with
/// what it began with.
package final class ReloadableState: Sendable {
    /// One configuration, and what was made of it.
    package final class Snapshot: Sendable {
        package let settings: ProxyConfiguration
        package let pipelines: ServiceGraph
        /// Whether any app has a shadow.
        let isShadowed: Bool
        /// In which a caller names its user.
        let userHeader: HTTPField.Name?

        init(settings: ProxyConfiguration, pipelines: ServiceGraph) {
            self.settings = settings
            self.pipelines = pipelines
            userHeader = settings.userHeader.flatMap { HTTPField.Name($0) }
            isShadowed = settings.apps.contains { $0.shadow != nil }
        }
    }

    private let parts: Mutex<Snapshot>

    init(settings: ProxyConfiguration, pipelines: ServiceGraph) {
        parts = Mutex(Snapshot(settings: settings, pipelines: pipelines))
    }

    package var now: Snapshot { parts.withLock { $0 } }

    func exchange(settings: ProxyConfiguration, pipelines: ServiceGraph) {
        let new = Snapshot(settings: settings, pipelines: pipelines)
        parts.withLock { $0 = new }
    }
}
