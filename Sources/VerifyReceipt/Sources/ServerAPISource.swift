package import AppStoreClients
package import AppStorePayloads
package import Base
import BridgeConfiguration
package import Storage
import Telemetry
import Transport

/// The lookups of customers in the App Store Server API: one client for each app that has a key. Their records are kept
/// at hand and stored.
package struct ServerAPISource: Sendable {
    private struct App: Sendable {
        let client: ServerAPIClient
        let budget: ServerAPIBudget
        /// The maximum age of records at hand: the app's `cacheSeconds`.
        let maximumAge: Duration
    }

    private let apps: [BundleIdentifier: App]
    private let atHand: RecordsAtHand
    /// The rate limits of all apps, including those of previous configurations. Calls that were made count, however
    /// often the configuration is reloaded.
    private let allBudgets: [BundleIdentifier: ServerAPIBudget]
    private let now: @Sendable () -> Timestamp
    /// Writes records to the store; `nil` if there is no store.
    private let writer: BackgroundStoreWriter?
    /// Remembers the revocations that each lookup returns. `nil` if revocations are not used, for example in a
    /// migration.
    private let revocations: KnownRevocations?
    /// `nil` if nothing is counted.
    private let counts: ProxyMetrics?

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - share: the part of Apple's hourly limits to use, above 0 and at most 1.
    ///   - reserve: the part of that share which only live traffic may use.
    ///   - cluster: shares the rate limits with other servers; `nil` if there can be none.
    ///   - previous: the source of the previous configuration. Its rate limits stay in use.
    init(
        settings: ProxyConfiguration, transport: any HTTPTransport, verifier: SignedPayloadVerifier,
        atHand: RecordsAtHand = RecordsAtHand(),
        now: @escaping @Sendable () -> Timestamp, share: Double = 1, reserve: Double = 0.3,
        retry: RetryPolicy = RetryPolicy(), writer: BackgroundStoreWriter? = nil,
        revocations: KnownRevocations? = nil, counts: ProxyMetrics? = nil, cluster: ServerCluster? = nil,
        previous: ServerAPISource? = nil
    ) throws {
        let hosts: EnvironmentURLs
        do throws(TransportError) {
            hosts = try EnvironmentURLs(
                productionBase: settings.serverAPI.production, sandboxBase: settings.serverAPI.sandbox)
        } catch {
            throw ConfigurationError(["upstream.serverAPI: \(error)"])
        }
        let clock = AppStoreClock(now: now, uptime: AppStoreClock.system.uptime, sleep: AppStoreClock.system.sleep)
        let parts = ServerAPIClient.Dependencies(
            transport: transport, hosts: hosts, verifier: verifier, retry: retry, clock: clock, counts: counts?.upstream
        )
        var apps: [BundleIdentifier: App] = [:]
        var allBudgets = previous?.allBudgets ?? [:]
        for app in settings.apps {
            guard let bundleId = app.bundleId, let account = app.serverAPI else { continue }
            let budget =
                allBudgets[bundleId]
                ?? ServerAPIBudget(
                    share: share, reserve: reserve, shared: cluster?.callBudget(of: bundleId))
            allBudgets[bundleId] = budget
            apps[bundleId] = App(
                client: ServerAPIClient(
                    account: account, parts: parts, budget: budget, previous: previous?.apps[bundleId]?.client),
                budget: budget,
                maximumAge: .seconds(app.cacheSeconds))
        }
        self.apps = apps
        self.allBudgets = allBudgets
        self.atHand = atHand
        self.now = now
        self.writer = writer
        self.revocations = revocations
        self.counts = counts
    }

    /// The clients of all apps that have a key, sorted by bundle id.
    package var clients: [(bundleId: BundleIdentifier, client: ServerAPIClient)] {
        apps.map { ($0.key, $0.value.client) }.sorted { $0.0.rawValue < $1.0.rawValue }
    }

    /// Gives the calls back that were taken from shared limits and not made.
    func giveBackCalls() async {
        for budget in allBudgets.values { await budget.giveBack() }
    }

    /// Returns the API's records of the customer with these identifiers, at hand if possible; `nil` if the app has no
    /// key.
    ///
    /// - Parameters:
    ///   - keys: not empty.
    ///   - environment: `nil` tries production, then the sandbox.
    ///   - isFresh: calls the API again, for at most 3 seconds, because the caller already has a response. Not within
    ///     seconds of the last such call.
    ///   - priority: the priority within the rate limit.
    ///   - limit: the time for all calls, pauses and waiting together.
    func records(
        for keys: CustomerIdentifiers, bundleId: BundleIdentifier, environment: AppStoreEnvironment?,
        isFresh: Bool = false, priority: HourlyBudget.Priority = .live, within limit: Duration
    ) async throws(UpstreamError) -> DatedRecords? {
        guard let app = apps[bundleId] else { return nil }
        let key = RecordsAtHand.Key(keys, of: bundleId, in: environment)
        let found = atHand.lookedUp(key, at: now(), maximumAge: app.maximumAge, confirmed: isFresh)
        if !isFresh { counts?.recordCache.add(found == nil ? HitLabel.miss : .hit) }
        if let found { return found }
        let limit = isFresh ? min(limit, .seconds(3)) : limit
        return try await lookUp(app, key, CallOptions(priority: priority, timeLimit: limit), isConfirming: isFresh)
    }

    /// Returns the app transaction of a customer whose records were just returned for these keys, at hand if possible.
    /// It takes one call of the rate limit.
    ///
    /// Returns `nil` if the App Store knows none, or does not answer within the limit: nothing is decided by it.
    func appTransaction(
        of records: CustomerRecords, for keys: CustomerIdentifiers, bundleId: BundleIdentifier,
        environment: AppStoreEnvironment?, priority: HourlyBudget.Priority = .live, within limit: Duration
    ) async -> Signed<AppTransactionPayload>? {
        guard let app = apps[bundleId], let id = records.downloadIdentifier else { return nil }
        let key = RecordsAtHand.Key(keys, of: bundleId, in: environment)
        switch atHand.download(of: key, at: now(), maximumAge: app.maximumAge) {
        case .known(let signed)?: return signed
        case .absent?: return nil
        case nil: break
        }
        guard let download = await download(id, of: app, in: records.environment, priority, within: limit) else {
            return nil
        }
        atHand.add(download, for: key, at: now(), maximumAge: app.maximumAge)
        guard case .known(let signed) = download else { return nil }
        return signed
    }

    /// Looks an app transaction up by its own id; `nil` if there is none, or on any failure.
    func appTransaction(
        _ id: TransactionIdentifier, bundleId: BundleIdentifier, environment: AppStoreEnvironment,
        priority: HourlyBudget.Priority = .live, within limit: Duration
    ) async -> Signed<AppTransactionPayload>? {
        guard let app = apps[bundleId],
            case .known(let signed)? = await download(id, of: app, in: environment, priority, within: limit)
        else { return nil }
        return signed
    }

    /// The time for Get App Transaction Info, because the caller already has a response without it.
    private static let downloadTimeLimit = Duration.seconds(3)

    /// Calls Get App Transaction Info. Returns `nil` on a failure.
    private func download(
        _ id: TransactionIdentifier, of app: App, in environment: AppStoreEnvironment,
        _ priority: HourlyBudget.Priority, within limit: Duration
    ) async -> RecordsAtHand.Download? {
        guard limit > .zero else { return nil }
        do throws(UpstreamError) {
            return .known(
                try await app.client.appTransaction(
                    id, in: environment,
                    CallOptions(priority: priority, timeLimit: min(limit, Self.downloadTimeLimit))))
        } catch {
            return error.errorNumber == .appTransactionNotFound ? .absent : nil
        }
    }

    /// Calls the API even if records are at hand, with the priority of batch work.
    ///
    /// - Parameter limit: the time for all calls, pauses and waiting together.
    @discardableResult
    package func refresh(
        _ keys: CustomerIdentifiers, in scope: AppScope, within limit: Duration = .seconds(60)
    ) async throws(UpstreamError) -> CustomerRecords? {
        guard let app = apps[scope.bundleId] else { return nil }
        let key = RecordsAtHand.Key(keys, of: scope.bundleId, in: scope.environment)
        return try await lookUp(app, key, CallOptions(priority: .batch, timeLimit: limit)).records
    }

    /// Looks a customer up. The records are then at hand, their revocations known, and they are written to the store.
    private func lookUp(
        _ app: App, _ key: RecordsAtHand.Key, _ options: CallOptions, isConfirming: Bool = false
    ) async throws(UpstreamError) -> DatedRecords {
        let (called, calledAt) = (ContinuousClock.now, now())
        let records = try await app.client.records(
            for: key.identifiers, bundleId: key.bundleId.rawValue, environment: key.environment, options)
        // Another request may have begun the lookup earlier.
        let begin = records.begunAt ?? called
        let askedAt = calledAt.advanced(by: min(.zero, called.duration(to: begin)))
        let scope = AppScope(bundleId: key.bundleId, environment: records.environment)
        let facts = revocations?.record(records, in: scope) ?? []
        writer?.save(records, for: key.identifiers, in: scope, askedAt: askedAt, since: begin) { [revocations] in
            revocations?.settle(facts, in: scope, areStored: $0)
        }
        let freshness = Freshness(of: records, askedAt: askedAt)
        // No source would ask for them.
        guard app.maximumAge > .zero || writer != nil else {
            return DatedRecords(records: records, freshness: freshness)
        }
        return atHand.add(
            records, freshness, for: key, from: isConfirming ? .confirmation : .lookup, since: begin, askedAt)
    }

    /// Returns whether the app has a key.
    package func handles(_ bundleId: BundleIdentifier) -> Bool { apps[bundleId] != nil }

    /// The client of an app, for calls whose results are not kept; `nil` if the app has no key.
    package func client(for bundleId: BundleIdentifier) -> ServerAPIClient? { apps[bundleId]?.client }

    /// The rate limits of all apps with a key.
    var budgets: [ServerAPIBudget] { apps.values.map(\.budget) }

    /// The remaining calls of each app, sorted by bundle id.
    package var appBudgets: [AppBudget] {
        let uptime = AppStoreClock.system.uptime()
        return apps.map { AppBudget(bundleId: $0, levels: $1.budget.levels(at: uptime)) }
            .sorted { $0.bundleId.rawValue < $1.bundleId.rawValue }
    }
}

extension CustomerRecords {
    /// The identifier by which the download of the app is looked up: the app transaction id, otherwise that of any
    /// transaction; `nil` if there is no transaction.
    fileprivate var downloadIdentifier: TransactionIdentifier? {
        func first(_ ids: some Sequence<String?>) -> TransactionIdentifier? {
            ids.lazy.compactMap { $0.flatMap(TransactionIdentifier.init(rawValue:)) }.first { _ in true }
        }
        return first(transactions.lazy.map(\.payload.appTransactionId))
            ?? first(transactions.lazy.map(\.payload.transactionId))
    }
}

/// The remaining calls of an app to the App Store Server API.
package struct AppBudget: Sendable {
    package let bundleId: BundleIdentifier
    /// Only endpoints that were called at least once.
    package let levels: [ServerAPIBudget.Level]
}
