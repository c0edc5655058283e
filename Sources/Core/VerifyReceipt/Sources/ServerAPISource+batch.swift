package import ReceiptBridgeAppStore
package import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeCryptography
package import ReceiptBridgeStorage
package import ReceiptBridgeTransport

/// The mode of the commands that an operator runs: a share of the hourly limits, of which nothing is reserved for live
/// requests. They wait when the share is used up, and retry failures with longer pauses than a server does.
extension ServerAPISource {
    /// The factor for the share of work that uses all of it. Apple's hour does not begin when ours does, so using
    /// slightly less avoids a call that comes a moment too early.
    package static let safetyFactor = 0.998
    /// The bounds of one lookup: 4 hours, because it may wait for the hourly limits several times, and 600 calls,
    /// retries included.
    private static let batchOptions = CallOptions(priority: .batch, timeLimit: .hours(4), maximumCalls: 600)

    /// - Parameters:
    ///   - share: the part of Apple's hourly limits to use, above 0 and at most 1.
    ///   - store: if servers share the limits in this store, the calls of this process count there too. Otherwise a
    ///     server of the same app uses the same limits, and does not know about this process.
    /// - Throws: ``ConfigurationError`` if the settings name something unusable, for example a file that is no private
    ///   key.
    package static func batch(
        settings: ProxyConfiguration, transport: any HTTPTransport, trust: TrustStore, share: Double = 1,
        store: (any Store)? = nil, now: @escaping @Sendable () -> Timestamp = { .now }
    ) throws -> ServerAPISource {
        try ServerAPISource(
            settings: settings, transport: transport, verifier: SignedPayloadVerifier(trust: trust), now: now,
            share: share, reserve: 0, retry: .batch,
            cluster: store?.cluster.map { ServerCluster(store: $0, instance: settings.instanceName) })
    }

    /// Returns all records of the customer with these identifiers: from the environment of the receipt, or from the
    /// other one if the customer is unknown there.
    ///
    /// - Parameter previous: the signed transactions of an earlier lookup in that environment, and its revision. Only
    ///   later changes are fetched then.
    package func records(
        for keys: CustomerIdentifiers, bundleId: BundleIdentifier, environment: AppStoreEnvironment?,
        since previous: (signedTransactions: [String], revision: String)? = nil
    ) async throws(UpstreamError) -> CustomerRecords {
        let client = try keyed(bundleId)
        let first = environment == .xcode ? nil : environment
        var history: EarlierHistory?
        if let previous, let first {
            history = client.earlierHistory(
                signedTransactions: previous.signedTransactions, revision: previous.revision, in: first)
        }
        do throws(UpstreamError) {
            return try await client.records(
                for: keys, bundleId: bundleId.rawValue, environment: first, since: history, Self.batchOptions)
        } catch {
            guard error.isUnknownTransaction, let first else { throw error }
            return try await client.records(
                for: keys, bundleId: bundleId.rawValue, environment: first == .production ? .sandbox : .production,
                Self.batchOptions)
        }
    }

    /// Asks the environment of the signed app transaction, and the other one if it is unknown there.
    package func appTransaction(
        _ identifier: TransactionIdentifier, bundleId: BundleIdentifier, environment: AppStoreEnvironment
    ) async throws(UpstreamError) -> (download: Signed<AppTransactionPayload>, environment: AppStoreEnvironment) {
        let client = try keyed(bundleId)
        let first: AppStoreEnvironment = environment == .sandbox ? .sandbox : .production
        do throws(UpstreamError) {
            return (try await client.appTransaction(identifier, in: first, Self.batchOptions), first)
        } catch {
            guard error.isUnknownTransaction || error.errorNumber == .appTransactionNotFound else { throw error }
            let other: AppStoreEnvironment = first == .production ? .sandbox : .production
            do throws(UpstreamError) {
                return (try await client.appTransaction(identifier, in: other, Self.batchOptions), other)
            } catch let otherError {
                // The environment of the app transaction knows best why there is no download.
                let isUnknown = otherError.isUnknownTransaction || otherError.errorNumber == .appTransactionNotFound
                throw isUnknown ? error : otherError
            }
        }
    }

    private func keyed(_ bundleId: BundleIdentifier) throws(UpstreamError) -> ServerAPIClient {
        guard let client = client(for: bundleId) else {
            throw UpstreamError(.noEndpoint, at: "configuration", "the app has no App Store Server API key")
        }
        return client
    }

    package func setAppAccountToken(
        _ token: String, of identifier: TransactionIdentifier, bundleId: BundleIdentifier,
        environment: AppStoreEnvironment
    ) async throws(UpstreamError) {
        let client = try keyed(bundleId)
        try await client.setAppAccountToken(identifier, token, in: environment, Self.batchOptions)
    }

    package var isConfigured: Bool { !budgets.isEmpty }

    /// The number of calls made so far.
    package var calls: Int64 { budgets.reduce(0) { $0 + $1.calls } }

    /// The wait for a rate limit of the call that resumes first; `nil` if none waits.
    package var rateLimitWait: RateLimitWait? {
        let uptime = AppStoreClock.system.uptime()
        return budgets.compactMap { $0.wait(at: uptime) }.min { $0.left < $1.left }
    }

    /// History calls of this hour, for the app and environment with the fewest; `nil` before the first call.
    package var callsLeft: Int64? {
        let uptime = AppStoreClock.system.uptime()
        return budgets.compactMap { $0.left(.history, .batch, at: uptime) }.min()
    }

    /// The number of history calls per hour in production, for one app.
    package var callsPerHour: Double {
        Double(ServerAPIEndpoint.history.requestsPerSecond) * 3_600 * share / Self.safetyFactor
    }
}

extension RetryPolicy {
    /// The retries of commands and of batch work, which have more time than a request to a server.
    static let batch = RetryPolicy(
        maximumAttempts: 6, baseDelay: Duration.milliseconds(500).atTestSpeed(),
        maximumDelay: Duration.seconds(20).atTestSpeed())
}
