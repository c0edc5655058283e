package import AppStore
package import Cryptography
package import StoreTypes
package import Transport

/// The Server API for those who have time: migrations and comparisons. They use a share of the hourly limits, wait where it
/// is spent, and are patient with failures.
package struct BatchServerAPIClient: Sendable {
    private let source: ServerAPISource
    private let share: Double
    /// Apple's hour does not begin when ours does: so much less than the share keeps us from asking a moment too early.
    private static let caution = 0.998
    private static let options = CallOptions(priority: .batch, timeLimit: .seconds(4 * 3_600), maximumCalls: 600)

    /// - Parameters:
    ///   - trust: whom to believe.
    ///   - share: the part of Apple's hourly limits to use, above 0 and at most 1; a server of the same app uses the same
    ///     limits, and does not know of this.
    /// - Throws: ``ConfigurationError`` where the settings name what cannot be used.
    package init(
        settings: ProxyConfiguration, transport: any HTTPTransport, trust: TrustStore, share: Double,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) throws {
        try settings.checkKeys()
        source = try ServerAPISource(
            settings: settings, transport: transport, verifier: SignedPayloadVerifier(trust: trust), now: now,
            share: share * Self.caution, reserve: 0,
            retry: RetryPolicy(maximumAttempts: 6, baseDelay: .milliseconds(500), maximumDelay: .seconds(20)))
        self.share = share
    }

    /// Whether the app has a key.
    package func handles(_ bundleId: BundleIdentifier) -> Bool { source.handles(bundleId) }

    /// Whether any app has a key.
    package var isConfigured: Bool { !source.budgets.isEmpty }

    /// All that is known of the customer of these identifiers: in the environment that the receipt names, and where it is
    /// not known there, in the other one.
    ///
    /// - Parameter known: the signed transactions of an earlier look-up in that environment, and its revision: only what
    ///   changed since is asked for.
    package func records(
        for keys: CustomerIdentifiers, bundleId: BundleIdentifier, environment: AppStoreEnvironment?,
        since known: (signedTransactions: [String], revision: String)? = nil
    ) async throws(ServerAPIError) -> CustomerRecords {
        guard let client = source.client(for: bundleId) else {
            throw ServerAPIError(.noEndpoint, at: "configuration", "the app has no key")
        }
        let first = environment == .xcode ? nil : environment
        var history: EarlierHistory?
        if let known, let first {
            history = client.earlierHistory(
                signedTransactions: known.signedTransactions, revision: known.revision, in: first)
        }
        do throws(ServerAPIError) {
            return try await client.records(
                for: keys, bundleId: bundleId.rawValue, environment: first, since: history, Self.options)
        } catch {
            guard error.isUnknownTransaction, let first else { throw error }
            return try await client.records(
                for: keys, bundleId: bundleId.rawValue, environment: first == .production ? .sandbox : .production,
                Self.options)
        }
    }

    /// Ties a purchase to an account of the app's.
    package func setAppAccountToken(
        _ token: String, of identifier: TransactionIdentifier, bundleId: BundleIdentifier,
        environment: AppStoreEnvironment
    ) async throws(ServerAPIError) {
        guard let client = source.client(for: bundleId) else {
            throw ServerAPIError(.noEndpoint, at: "configuration", "the app has no key")
        }
        try await client.setAppAccountToken(identifier, token, in: environment, Self.options)
    }

    /// Calls that were made.
    package var calls: Int64 { source.budgets.reduce(0) { $0 + $1.calls } }

    /// How long until the first call that waits for a rate limit goes on; nil if none waits.
    package var rateLimitWait: Duration? {
        let uptime = AppStoreClock.system.uptime()
        return source.budgets.compactMap { $0.wait(at: uptime) }.min()
    }

    /// What is left of the hour's calls for histories, of the app and environment that has the fewest; nil before the
    /// first call.
    package var callsLeft: Int64? {
        let uptime = AppStoreClock.system.uptime()
        return source.budgets.compactMap { $0.left(.history, .batch, at: uptime) }.min()
    }

    /// Calls an hour for histories in production.
    package var callsPerHour: Double { Double(ServerAPIEndpoint.history.requestsPerSecond) * 3_600 * share }
}
