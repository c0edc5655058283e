package import AppStore
package import Cryptography
package import StoreTypes
package import Transport

/// The Server API for what people ask of it by hand: a client for each app that has a key.
package struct UpstreamClients: Sendable {
    private let source: ServerAPISource

    /// - Parameters:
    ///   - trust: whom to believe.
    ///   - share: the part of Apple's hourly limits to use, above 0 and at most 1; a server of the same app uses the same
    ///     limits, and does not know of this.
    /// - Throws: ``ConfigurationError`` where the settings name what cannot be used.
    package init(
        settings: ProxyConfiguration, transport: any HTTPTransport, trust: TrustStore, share: Double = 1,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) throws {
        source = try ServerAPISource(
            settings: settings, transport: transport, verifier: SignedPayloadVerifier(trust: trust), now: now,
            share: share, reserve: 0,
            retry: RetryPolicy(maximumAttempts: 6, baseDelay: .milliseconds(500), maximumDelay: .seconds(20)))
    }

    /// The app's; nil where it has no key.
    package func client(for bundleId: BundleIdentifier) -> ServerAPIClient? { source.client(for: bundleId) }

    /// Whether any app has a key.
    package var isConfigured: Bool { !source.budgets.isEmpty }

    /// Calls that were made.
    package var calls: Int64 { source.budgets.reduce(0) { $0 + $1.calls } }

    /// How long until the first call that waits for a rate limit goes on; nil if none waits.
    package var rateLimitWait: Duration? {
        let uptime = AppStoreClock.system.uptime()
        return source.budgets.compactMap { $0.wait(at: uptime) }.min()
    }
}
