package import ReceiptBridgeBase
import Synchronization
import ReceiptBridgeTransport

/// A target: the URL of the app's server and the version of its notifications. App Store Connect stores one for each
/// environment.
///
/// Notifications of a simulator look like Apple's but are not signed by Apple, so they must never reach another
/// machine.
///
/// https://developer.apple.com/documentation/appstoreservernotifications/enabling-app-store-server-notifications
package struct NotificationTarget: Sendable, Hashable {
    package enum Version: Int64, Sendable, Hashable {
        case first = 1
        case second
    }

    let url: HTTPURL
    package var version = Version.second
    /// Maximum time to wait for a response.
    package var timeout = Duration.seconds(30)

    /// The URL, for example `http://127.0.0.1:8080/path?query`.
    package var text: String { url.text }

    /// Returns `nil` if the text is not a URL of unencrypted HTTP to the loopback interface.
    package init?(_ text: String) {
        guard let url = try? HTTPURL(text), !url.isSecure, url.isLoopback else { return nil }
        self.url = url
    }
}

/// A registry of the targets of both environments.
package final class TargetRegistry: Sendable {
    enum Finding: Sendable, Hashable {
        /// No target was ever set, for either environment.
        case neverSet
        /// Targets were set, but this environment has none now.
        case none
        case target(NotificationTarget)
    }

    private struct Contents {
        var targets: [AppStoreEnvironment: NotificationTarget] = [:]
        var wasSet = false
    }

    private let contents = Mutex(Contents())

    /// Sets the target of an environment, or of both if `environment` is `nil`.
    package func set(_ target: NotificationTarget, for environment: AppStoreEnvironment? = nil) {
        contents.withLock {
            $0.wasSet = true
            for environment in environment.map({ [$0] }) ?? [.production, .sandbox] {
                $0.targets[environment] = target
            }
        }
    }

    /// Removes all targets. ``find(_:)`` then returns `none`, not `neverSet`.
    package func removeAll() { contents.withLock { $0.targets = [:] } }

    func find(_ environment: AppStoreEnvironment) -> Finding {
        contents.withLock {
            guard $0.wasSet else { return .neverSet }
            return $0.targets[environment].map(Finding.target) ?? .none
        }
    }

    var document: JSONValue {
        let targets = contents.withLock { $0.targets }
        return .array(
            [AppStoreEnvironment.production, .sandbox].compactMap { environment in
                targets[environment].map {
                    JSONValue(["environment": environment.rawValue, "url": $0.text, "version": $0.version.rawValue])
                }
            })
    }
}

extension NotificationTarget.Version {
    /// Version 2: 1, 12, 24, 48 and 72 hours after the previous attempt. Version 1: 6, 24 and 48 hours. In the sandbox
    /// there are no retries.
    /// https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
    package func pauses(in environment: AppStoreEnvironment) -> [Duration] {
        switch (environment, self) {
        case (.production, .first): [.hours(6), .hours(24), .hours(48)]
        case (.production, .second): [.hours(1), .hours(12), .hours(24), .hours(48), .hours(72)]
        default: []
        }
    }

    /// Returns the pause after `attempts` failed attempts, or `nil` if there is no further retry.
    ///
    /// - Parameter speed: factor by which the pause is shorter than Apple's. For example, 3600 turns an hour into a
    ///   second.
    package func pause(after attempts: Int, in environment: AppStoreEnvironment, speed: Double) -> Duration? {
        let pauses = pauses(in: environment)
        guard pauses.indices.contains(attempts - 1) else { return nil }
        return pauses[attempts - 1] / max(speed, 0.001)
    }
}
