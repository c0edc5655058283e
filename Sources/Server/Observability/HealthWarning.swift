package import ReceiptBridgeBase
package import ReceiptBridgeCore
package import ReceiptBridgeStorage
import Synchronization

/// A condition that an operator should check. Requests are served all the same.
package struct HealthWarning: Sendable, Hashable {
    /// The stable identifiers.
    package enum Code: String, Sendable, CaseIterable {
        case storeReplaced, storeNotOpen, storeErrors, storeDamaged, notificationsMissing, customersToLookUp
        case clockDiffersFromDatabase, certificateEnds, keyUnusable, keyRejected, sharedSecretRejected
        case appAppleIdContradicted, appNotConfigured, upstreamFailing, upstreamLeftAlone, budgetLow
        case rolloutStopped, forwardingDead
    }

    package let code: Code
    /// A sentence for operators. It contains nothing from requests but bundle ids that Apple signed.
    package let detail: String
    /// The app that the warning concerns, or `nil`. Not part of the JSON.
    package let bundleId: BundleIdentifier?

    private init(_ code: Code, _ detail: String, of bundleId: BundleIdentifier? = nil) {
        (self.code, self.detail, self.bundleId) = (code, detail, bundleId)
    }

    private init(_ code: Code, of bundleId: BundleIdentifier, _ detail: String) {
        self.init(code, "\(bundleId.rawValue): \(detail)", of: bundleId)
    }
}

/// The store and the clocks.
extension HealthWarning {
    package static let storeReplaced = Self(
        .storeReplaced,
        "A file of the store was removed, replaced or truncated. Nothing is stored and notifications are rejected until "
            + "it is restored and the server restarted.")
    package static let storeNotOpen = Self(
        .storeNotOpen,
        "The store could not be opened yet. Nothing is stored and notifications are rejected until it is open.")

    package static func storeErrors(_ count: Int64) -> Self {
        Self(.storeErrors, "\(count) store operations failed since the start.")
    }

    package static func storeDamaged(_ reason: String) -> Self {
        Self(.storeDamaged, "The store has damaged rows, which are left out: \(reason).")
    }

    package static func notificationsMissing(_ gap: NotificationGap) -> Self {
        Self(
            .notificationsMissing,
            "Notifications from \(gap.start.iso8601) to \(gap.end.iso8601) may be missing; they are being fetched.")
    }

    package static func customersToLookUp(_ count: Int64) -> Self {
        Self(
            .customersToLookUp,
            "\(count) customers are being looked up again; until then Apple is asked about their receipts.")
    }

    package static func clockDiffers(_ difference: ClockDifference) -> Self {
        Self(.clockDiffersFromDatabase, "Correct the clock that is wrong: \(difference.description).")
    }

    package static func certificateEnds(days: Int64) -> Self {
        Self(
            .certificateEnds,
            days < 0
                ? "The TLS certificate of the listener has expired; clients reject it."
                : "The TLS certificate of the listener expires in \(days) days.")
    }
}

/// Apps and their keys.
extension HealthWarning {
    package static func keyUnusable(_ keyId: String, of app: BundleIdentifier, _ reason: String) -> Self {
        Self(
            .keyUnusable, of: app,
            "the private key \(keyId) is unusable (\(reason)); App Store Server API disabled for this app.")
    }

    package static func rejected(
        _ credential: RejectedCredentials.Credential, of app: BundleIdentifier, _ count: Int
    ) -> Self {
        let times = count == 1 ? "once" : "\(count) times"
        return switch credential {
        case .sharedSecret:
            Self(
                .sharedSecretRejected, of: app,
                "Apple has rejected the configured sharedSecret (21004) \(times). The next source answers.")
        case .privateKey:
            Self(
                .keyRejected, of: app,
                "Apple has rejected the App Store Server API key (401) \(times). The next source answers.")
        case .appAppleId:
            Self(
                .appAppleIdContradicted, of: app,
                "an authentic receipt names another Apple ID than appAppleId (\(times)), so notifications of production "
                    + "are refused.")
        }
    }

    package static func appNotConfigured(
        _ count: Int64, _ notice: String, unknownApps: ProxyConfiguration.UnknownApps
    ) -> Self {
        Self(
            .appNotConfigured,
            "\(count == 1 ? "One receipt" : "\(count) receipts") of an app that is not configured, the last one within "
                + "this hour: \(notice) "
                + (unknownApps == .refuse
                    ? "They get 21003."
                    : "No shared secret is added to them, so a subscription without a password gets 21004."))
    }

    package static let noApp = Self(.appNotConfigured, "\(ProxyConfiguration.noAppSentence).")

    package static func rolloutStopped(of app: BundleIdentifier, _ sentence: String) -> Self {
        Self(.rolloutStopped, of: app, sentence)
    }

    package static func forwardingDead(_ count: Int64, of app: BundleIdentifier) -> Self {
        Self(.forwardingDead, of: app, "\(count) notification deliveries failed for good.")
    }
}

/// The App Store.
extension HealthWarning {
    package static func upstreamFailing(
        _ endpoint: String, _ environment: AppStoreEnvironment, failed: Int64, asked: Int64
    ) -> Self {
        Self(
            .upstreamFailing,
            "\(endpoint), \(environment.rawValue): \(failed) of \(asked) requests got no response since the start.")
    }

    package static func upstreamLeftAlone(_ host: String) -> Self {
        Self(
            .upstreamLeftAlone,
            "\(host): circuit breaker open; requests use the next source until the host responds again.")
    }

    package static func budgetLow(
        _ endpoint: String, _ environment: AppStoreEnvironment, left: Int64, of limit: Int64, for app: BundleIdentifier
    ) -> Self {
        Self(
            .budgetLow, of: app,
            "hourly budget low: \(left) of \(limit) calls left to \(endpoint), \(environment.rawValue).")
    }
}

/// The apps whose private keys cannot sign. A check signs with every key, so warnings show the last one, and it is
/// repeated in the background at most once a minute.
package final class KeyChecks: Sendable {
    private struct State {
        var unusable: [InvalidPrivateKey] = []
        var checks = 0
        var next: ContinuousClock.Instant?
    }

    private static let interval = Duration.seconds(60)

    private let state = Mutex(State())
    private let unusableKeys: @Sendable (ProxyConfiguration) -> [InvalidPrivateKey]
    private let now: @Sendable () -> ContinuousClock.Instant

    package init(
        unusableKeys: @escaping @Sendable (ProxyConfiguration) -> [InvalidPrivateKey] = { $0.unusableKeys },
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.unusableKeys = unusableKeys
        self.now = now
    }

    @discardableResult
    package func check(_ settings: ProxyConfiguration) -> [InvalidPrivateKey] {
        let number = state.withLock { state in
            state.checks += 1
            state.next = now() + Self.interval
            return state.checks
        }
        let unusable = unusableKeys(settings)
        // A check that was overtaken, for example by one of a new configuration, is ignored.
        state.withLock { if $0.checks == number { $0.unusable = unusable } }
        return unusable
    }

    /// Returns the result of the last check, and begins another one if that is old.
    package func unusable(in settings: ProxyConfiguration) -> [InvalidPrivateKey] {
        let (last, isDue) = state.withLock { state in
            let isDue = state.next.map { $0 <= now() } ?? true
            if isDue { state.next = now() + Self.interval }
            return (state.unusable, isDue)
        }
        if isDue { Task.detached(priority: .background) { self.check(settings) } }
        return last
    }
}
