package import AppStoreClients
package import AppStorePayloads
package import Base
package import BridgeConfiguration
package import Cryptography
package import Storage
package import Transport

/// The App Store Server API for batch work: migrations and comparisons. Uses a share of the hourly rate limits, waits
/// when the share is used up, and retries failures with longer pauses than a server does.
package struct BatchServerAPIClient: Sendable {
    private let clients: UpstreamClients
    private let share: Double
    /// The factor for the share. Apple's hour does not begin when ours does, so using slightly less avoids a call that
    /// comes a moment too early.
    private static let safetyFactor = 0.998
    /// The bounds of one lookup: 4 hours, because it may wait for the hourly limits several times, and 600 calls,
    /// retries included.
    private static let options = CallOptions(priority: .batch, timeLimit: .hours(4), maximumCalls: 600)

    /// - Parameters:
    ///   - trust: the trusted certificates.
    ///   - share: the part of Apple's hourly limits to use, above 0 and at most 1.
    ///   - store: if servers share the limits in this store, the calls of this process count there too. Otherwise a
    ///     server of the same app uses the same limits, and does not know about this process.
    /// - Throws: ``ConfigurationError`` if the settings name something unusable, for example a file that is no private
    ///   key.
    package init(
        settings: ProxyConfiguration, transport: any HTTPTransport, trust: TrustStore, share: Double,
        store: (any Store)? = nil,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) throws {
        try settings.checkKeys()
        clients = try UpstreamClients(
            settings: settings, transport: transport, trust: trust, share: share * Self.safetyFactor, store: store,
            now: now)
        self.share = share
    }

    /// Gives the calls back that were taken from shared limits and not made.
    package func giveBackCalls() async { await clients.giveBackCalls() }

    /// Returns whether the app has a key.
    package func handles(_ bundleId: BundleIdentifier) -> Bool { clients.source.handles(bundleId) }

    /// Whether any app has a key.
    package var isConfigured: Bool { clients.isConfigured }

    /// Returns all records of the customer with these identifiers: from the environment of the receipt, or from the
    /// other one if the customer is unknown there.
    ///
    /// - Parameter known: the signed transactions of an earlier lookup in that environment, and its revision. Only
    ///   later changes are fetched then.
    package func records(
        for keys: CustomerIdentifiers, bundleId: BundleIdentifier, environment: AppStoreEnvironment?,
        since previous: (signedTransactions: [String], revision: String)? = nil
    ) async throws(UpstreamError) -> CustomerRecords {
        let client = try client(for: bundleId)
        let first = environment == .xcode ? nil : environment
        var history: EarlierHistory?
        if let previous, let first {
            history = client.earlierHistory(
                signedTransactions: previous.signedTransactions, revision: previous.revision, in: first)
        }
        do throws(UpstreamError) {
            return try await client.records(
                for: keys, bundleId: bundleId.rawValue, environment: first, since: history, Self.options)
        } catch {
            guard error.isUnknownTransaction, let first else { throw error }
            return try await client.records(
                for: keys, bundleId: bundleId.rawValue, environment: first == .production ? .sandbox : .production,
                Self.options)
        }
    }

    /// Returns a customer's download of the app: from the environment of its signed app transaction, or from the other
    /// one if it is unknown there.
    package func appTransaction(
        _ identifier: TransactionIdentifier, bundleId: BundleIdentifier, environment: AppStoreEnvironment
    ) async throws(UpstreamError) -> (download: Signed<AppTransactionPayload>, environment: AppStoreEnvironment) {
        let client = try client(for: bundleId)
        let first: AppStoreEnvironment = environment == .sandbox ? .sandbox : .production
        do throws(UpstreamError) {
            return (try await client.appTransaction(identifier, in: first, Self.options), first)
        } catch {
            guard error.isUnknownTransaction || error.errorNumber == .appTransactionNotFound else { throw error }
            let other: AppStoreEnvironment = first == .production ? .sandbox : .production
            do throws(UpstreamError) {
                return (try await client.appTransaction(identifier, in: other, Self.options), other)
            } catch let otherError {
                // The environment of the app transaction knows best why there is no download.
                let isUnknown = otherError.isUnknownTransaction || otherError.errorNumber == .appTransactionNotFound
                throw isUnknown ? error : otherError
            }
        }
    }

    /// Returns the client of an app.
    private func client(for bundleId: BundleIdentifier) throws(UpstreamError) -> ServerAPIClient {
        guard let client = clients.client(for: bundleId) else {
            throw UpstreamError(.noEndpoint, at: "configuration", "the app has no App Store Server API key")
        }
        return client
    }

    /// Sets the `appAccountToken` of a purchase.
    package func setAppAccountToken(
        _ token: String, of identifier: TransactionIdentifier, bundleId: BundleIdentifier,
        environment: AppStoreEnvironment
    ) async throws(UpstreamError) {
        let client = try client(for: bundleId)
        try await client.setAppAccountToken(identifier, token, in: environment, Self.options)
    }

    /// The number of calls made so far.
    package var calls: Int64 { clients.calls }

    /// The wait for a rate limit of the call that resumes first; `nil` if none waits.
    package var rateLimitWait: RateLimitWait? { clients.rateLimitWait }

    /// The remaining history calls of this hour, for the app and environment with the fewest; `nil` before the first
    /// call.
    package var callsLeft: Int64? {
        let uptime = AppStoreClock.system.uptime()
        return clients.source.budgets.compactMap { $0.left(.history, .batch, at: uptime) }.min()
    }

    /// The number of history calls per hour in production, for one app.
    package var callsPerHour: Double { Double(ServerAPIEndpoint.history.requestsPerSecond) * 3_600 * share }
}
