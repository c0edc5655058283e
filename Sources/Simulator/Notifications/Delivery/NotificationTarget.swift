package import StoreTypes
import Synchronization

/// The address of the app's server and the version of its notifications. App Store Connect stores one for each
/// environment.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/enabling-app-store-server-notifications
package struct NotificationTarget: Sendable, Hashable {
    /// The version of App Store Server Notifications.
    package enum Version: Int64, Sendable, Hashable {
        case first = 1
        case second
    }

    package let url: LoopbackURL
    package let version: Version
    /// Maximum time to wait for a response.
    package let timeout: Duration

    package init(url: LoopbackURL, version: Version = .second, timeout: Duration = .seconds(30)) {
        self.url = url
        self.version = version
        self.timeout = timeout
    }
}

/// A registry of the targets of both environments.
package final class TargetRegistry: Sendable {
    /// The result of looking up the target of an environment.
    enum Finding: Sendable, Hashable {
        /// No target was ever set, for either environment.
        case neverAsked
        /// Targets were set, but this environment has none now.
        case none
        case target(NotificationTarget)
    }

    private struct Contents {
        var targets: [AppStoreEnvironment: NotificationTarget] = [:]
        var wasAsked = false
    }

    private let contents = Mutex(Contents())

    package init() {}

    /// Sets the target of an environment, or of both if `environment` is `nil`.
    package func set(_ target: NotificationTarget, for environment: AppStoreEnvironment? = nil) {
        contents.withLock {
            $0.wasAsked = true
            for environment in environment.map({ [$0] }) ?? [.production, .sandbox] {
                $0.targets[environment] = target
            }
        }
    }

    /// Removes all targets. ``find(_:)`` then returns `none`, not `neverAsked`.
    package func removeAll() {
        contents.withLock { $0.targets = [:] }
    }

    func find(_ environment: AppStoreEnvironment) -> Finding {
        contents.withLock {
            guard $0.wasAsked else { return .neverAsked }
            return $0.targets[environment].map(Finding.target) ?? .none
        }
    }

    /// The response to `GET /notifications/targets`.
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
