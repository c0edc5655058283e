package import StoreTypes

/// When Apple tries again after a failure.
///
/// Version 2: 1, 12, 24, 48 and 72 hours after the attempt before; version 1: 6, 24 and 48; in the sandbox never.
/// https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
package struct RetrySchedule: Sendable, Hashable {
    /// Between an attempt and the next one.
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

    /// How long to wait after that many attempts, the newest of which failed; nil for no more.
    ///
    /// - Parameter speed: 3600 makes an hour a second.
    package func pause(after attempts: Int, speed: Double) -> Duration? {
        guard pauses.indices.contains(attempts - 1) else { return nil }
        return pauses[attempts - 1] / max(speed, 0.001)
    }
}
