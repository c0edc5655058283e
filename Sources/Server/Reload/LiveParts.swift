import HTTPTypes
package import Pipeline
import Synchronization

/// What requests are answered by now. A new configuration exchanges it as a whole; a request that has begun ends with
/// what it began with.
package final class LiveParts: Sendable {
    /// One configuration, and what was made of it.
    package final class Parts: Sendable {
        package let settings: Settings
        package let pipelines: Pipelines
        /// Whether any app has a shadow.
        let isShadowed: Bool
        /// In which a caller names its user.
        let userHeader: HTTPField.Name?

        init(settings: Settings, pipelines: Pipelines) {
            self.settings = settings
            self.pipelines = pipelines
            userHeader = settings.userHeader.flatMap { HTTPField.Name($0) }
            isShadowed = settings.apps.contains { $0.shadow != nil }
        }
    }

    private let parts: Mutex<Parts>

    init(settings: Settings, pipelines: Pipelines) {
        parts = Mutex(Parts(settings: settings, pipelines: pipelines))
    }

    package var now: Parts { parts.withLock { $0 } }

    func exchange(settings: Settings, pipelines: Pipelines) {
        let new = Parts(settings: settings, pipelines: pipelines)
        parts.withLock { $0 = new }
    }
}
