package import StoreTypes
import Synchronization

/// Where the app's server wants to be told, and in which version; App Store Connect keeps one for each environment.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/enabling-app-store-server-notifications
package struct NotificationTarget: Sendable, Hashable {
    package enum Version: Int64, Sendable, Hashable {
        case first = 1
        case second
    }

    package let url: LoopbackURL
    package let version: Version
    /// How long an answer may take before it counts as none.
    package let timeout: Duration

    package init(url: LoopbackURL, version: Version = .second, timeout: Duration = .seconds(30)) {
        self.url = url
        self.version = version
        self.timeout = timeout
    }
}

/// The targets of both environments.
package final class TargetRegistry: Sendable {
    /// What is known of an environment's target.
    enum Finding: Sendable, Hashable {
        /// Nobody ever named one, for either environment.
        case neverAsked
        case none
        case target(NotificationTarget)
    }

    private struct Contents {
        var targets: [AppStoreEnvironment: NotificationTarget] = [:]
        var wasAsked = false
    }

    private let contents = Mutex(Contents())

    package init() {}

    /// For both environments where none is named.
    package func set(_ target: NotificationTarget, for environment: AppStoreEnvironment? = nil) {
        contents.withLock {
            $0.wasAsked = true
            for environment in environment.map({ [$0] }) ?? [.production, .sandbox] {
                $0.targets[environment] = target
            }
        }
    }

    package func removeAll() {
        contents.withLock { $0.targets = [:] }
    }

    func find(_ environment: AppStoreEnvironment) -> Finding {
        contents.withLock {
            guard $0.wasAsked else { return .neverAsked }
            return $0.targets[environment].map(Finding.target) ?? .none
        }
    }

    /// `GET /notifications/targets`.
    var document: JSONValue {
        let targets = contents.withLock { $0.targets }
        return .array(
            [AppStoreEnvironment.production, .sandbox].compactMap { environment in
                targets[environment].map {
                    .object([
                        "environment": .string(environment.rawValue), "url": .string($0.url.text),
                        "version": .number($0.version.rawValue),
                    ])
                }
            })
    }
}
