package import AppStoreClients
import AppStorePayloads
package import Base
package import BridgeConfiguration
package import Cryptography
package import Storage
package import Transport

/// The Server API clients of the commands that an operator runs: one for each app that has a key.
package struct UpstreamClients: Sendable {
    let source: ServerAPISource

    /// Creates the clients.
    ///
    /// - Parameters:
    ///   - trust: the trusted certificates.
    ///   - share: the part of Apple's hourly limits to use, above 0 and at most 1.
    ///   - store: if servers share the limits in this store, the calls of this process count there too. Otherwise a
    ///     server of the same app uses the same limits, and does not know about this process.
    /// - Throws: ``ConfigurationError`` if the settings name something unusable.
    package init(
        settings: ProxyConfiguration, transport: any HTTPTransport, trust: TrustStore, share: Double = 1,
        store: (any Store)? = nil,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) throws {
        source = try ServerAPISource(
            settings: settings, transport: transport, verifier: SignedPayloadVerifier(trust: trust), now: now,
            share: share, reserve: 0,
            retry: .batch, cluster: store?.cluster.map { ServerCluster(store: $0, instance: settings.instanceName) })
    }

    /// Gives the calls back that were taken from shared limits and not made.
    package func giveBackCalls() async { await source.giveBackCalls() }

    /// The client of an app; `nil` if it has no key.
    package func client(for bundleId: BundleIdentifier) -> ServerAPIClient? { source.client(for: bundleId) }

    /// The clients of all apps that have a key, sorted by bundle id.
    package var all: [(bundleId: BundleIdentifier, client: ServerAPIClient)] { source.clients }

    /// Whether any app has a key.
    package var isConfigured: Bool { !source.budgets.isEmpty }

    /// The number of calls made so far.
    package var calls: Int64 { source.budgets.reduce(0) { $0 + $1.calls } }

    /// The wait for a rate limit of the call that resumes first; `nil` if none waits.
    package var rateLimitWait: RateLimitWait? {
        let uptime = AppStoreClock.system.uptime()
        return source.budgets.compactMap { $0.wait(at: uptime) }.min { $0.left < $1.left }
    }
}

extension RetryPolicy {
    /// The retries of commands and of batch work, which have more time than a request to a server.
    static let batch = RetryPolicy(
        maximumAttempts: 6, baseDelay: Duration.milliseconds(500).atTestSpeed(),
        maximumDelay: Duration.seconds(20).atTestSpeed())
}
