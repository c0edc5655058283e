package import StoreTypes

/// Apple's schedule of retries after a failed attempt.
///
/// Version 2: 1, 12, 24, 48 and 72 hours after the previous attempt. Version 1: 6, 24 and 48 hours. In the sandbox
/// there are no retries.
/// https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
package struct RetrySchedule: Sendable, Hashable {
    /// Pauses between an attempt and the next one.
    package let pauses: [Duration]

    package init(_ version: NotificationTarget.Version, _ environment: AppStoreEnvironment) {
        let hours: [Int64] =
            switch (environment, version) {
            case (.production, .first): [6, 24, 48]
            case (.production, .second): [1, 12, 24, 48, 72]
            default: []
            }
        pauses = hours.map { .seconds($0 * 3600) }
    }

    /// Returns the pause after `attempts` failed attempts, or `nil` if there is no further retry.
    ///
    /// - Parameter speed: factor by which the pause is shorter than Apple's. For example, 3600 turns an hour into a second.
    package func pause(after attempts: Int, speed: Double) -> Duration? {
        guard pauses.indices.contains(attempts - 1) else { return nil }
        return pauses[attempts - 1] / max(speed, 0.001)
    }
}
