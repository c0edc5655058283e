package import ReceiptBridgeAppStore
package import ReceiptBridgeReceipts
package import ReceiptBridgeBase
package import ReceiptBridgeStorage
import Synchronization
import ReceiptBridgeTransport

/// The lookups of customers in the App Store Server API: one client for each app that has a key. Their records are kept
/// at hand and stored.
package struct ServerAPISource: Sendable {
    struct App: Sendable {
        let client: ServerAPIClient
        let budget: ServerAPIBudget
        /// The maximum age of records at hand: the app's `cacheSeconds`.
        let maximumAge: Duration
        /// The maximum age of a history to which later changes are added: the app's `storedMaxAge`.
        let historyAge: Duration
    }

    /// What concurrent lookups share.
    private struct Question: Hashable, Sendable {
        let key: RecordsAtHand.Key
        let priority: HourlyBudget.Priority
    }

    /// When the last page of each running lookup arrived.
    private final class Readings: Sendable {
        let lastPages = Mutex<[Question: ContinuousClock.Instant]>([:])
    }

    /// The time limit of a lookup that nobody waits for any more. A long history takes a call for each 20
    /// transactions.
    private static let limitAlone = Duration.seconds(60)
    /// The time limit of calls whose caller already has a response.
    private static let confirmationLimit = Duration.seconds(3)

    let apps: [BundleIdentifier: App]
    /// The part of Apple's hourly limits to use, above 0 and at most 1.
    let share: Double
    let atHand: RecordsAtHand
    /// The rate limits of all apps, including those of previous configurations. Calls that were made count, however
    /// often the configuration is reloaded.
    private let allBudgets: [BundleIdentifier: ServerAPIBudget]
    let now: @Sendable () -> Timestamp
    private let writer: BackgroundStoreWriter?
    /// Remembers the revocations that each lookup returns. `nil` in a migration, which uses none.
    private let revocations: KnownRevocations?
    private let counts: ProxyMetrics?
    /// Lookups on their way. One that takes longer than a request is still at hand for the next one.
    private let lookups = SingleFlight<Question, DatedRecords, UpstreamError>(maximumAlone: 64)
    private let readings = Readings()
    private let confirmations = SingleFlight<Question, DatedRecords?, UpstreamError>()

    /// - Parameters:
    ///   - share: the part of Apple's hourly limits to use, above 0 and at most 1.
    ///   - reserve: the part of that share which only live traffic may use.
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
                ?? ServerAPIBudget(share: share, reserve: reserve, shared: cluster?.callBudget(of: bundleId))
            allBudgets[bundleId] = budget
            apps[bundleId] = App(
                client: ServerAPIClient(
                    account: account, parts: parts, budget: budget, previous: previous?.apps[bundleId]?.client),
                budget: budget,
                maximumAge: .seconds(app.cacheSeconds), historyAge: .seconds(app.storedMaxAge))
        }
        (self.apps, self.share, self.allBudgets, self.atHand) = (apps, share, allBudgets, atHand)
        (self.now, self.writer, self.revocations, self.counts) = (now, writer, revocations, counts)
    }

    /// The clients of all apps that have a key, sorted by bundle id.
    package var clients: [(bundleId: BundleIdentifier, client: ServerAPIClient)] {
        apps.map { ($0.key, $0.value.client) }.sorted { $0.0.rawValue < $1.0.rawValue }
    }

    /// Gives the calls back that were taken from shared limits and not made.
    package func giveBackCalls() async {
        for budget in allBudgets.values { await budget.giveBack() }
    }

    /// Records at hand if possible; `nil` if the app has no key.
    ///
    /// - Parameters:
    ///   - keys: not empty.
    ///   - environment: `nil` tries production, then the sandbox.
    ///   - isFresh: calls the API again, for at most 3 seconds, because the caller already has a response. Not within
    ///     seconds of the last such call.
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
        if isFresh {
            return try await lookUp(app, key, priority, within: min(limit, Self.confirmationLimit), isConfirming: true)
        }
        let end = ContinuousClock.now + limit
        let asked = try await confirmedOrLookedUp(app, key, priority, until: end)
        // A lookup that another request began earlier can be older than what it denies may be.
        guard app.maximumAge > .zero, asked.freshness.isShortlyOld(at: now()),
            atHand.lookedUp(key, at: now(), maximumAge: app.maximumAge) == nil
        else { return asked }
        return (try? await confirmedOrLookedUp(app, key, priority, until: end)) ?? asked
    }

    /// Returns records at hand that statuses confirm, otherwise those of a lookup.
    private func confirmedOrLookedUp(
        _ app: App, _ key: RecordsAtHand.Key, _ priority: HourlyBudget.Priority, until end: ContinuousClock.Instant
    ) async throws(UpstreamError) -> DatedRecords {
        if let found = atHand.confirmable(key, at: now(), maximumAge: app.maximumAge),
            let confirmed = try? await confirm(found, app, key, priority, within: end - .now)
        {
            return confirmed
        }
        return try await lookUp(app, key, priority, within: end - .now)
    }

    /// Asks whether the App Store still says what these records deny, with one call. Returns `nil` if it says something
    /// else, or does not answer, or if the customer changed in the meantime: then only a lookup can tell.
    ///
    /// - Parameter limit: the time for the call; at most 3 seconds are used.
    func confirmed(
        _ found: DatedRecords, for keys: CustomerIdentifiers, in scope: AppScope,
        priority: HourlyBudget.Priority = .live, within limit: Duration
    ) async -> DatedRecords? {
        guard !found.freshness.isConfirmed(at: now()) else { return found }
        guard let app = apps[scope.bundleId] else { return nil }
        let key = RecordsAtHand.Key(keys, of: scope.bundleId, in: scope.environment)
        return try? await confirm(found, app, key, priority, within: limit)
    }

    private func confirm(
        _ found: DatedRecords, _ app: App, _ key: RecordsAtHand.Key, _ priority: HourlyBudget.Priority,
        within limit: Duration
    ) async throws(UpstreamError) -> DatedRecords? {
        let records = found.records
        let purchase =
            (records.subscriptions.first?.originalTransactionId ?? records.transactions.first?.payload.transactionId)
            .flatMap(TransactionIdentifier.init(rawValue:))
        guard let version = found.version, let purchase, limit > .zero else { return nil }
        let limit = min(limit, Self.confirmationLimit)
        let confirmed = try await confirmations.value(for: Question(key: key, priority: priority), within: limit) {
            () async throws(UpstreamError) in
            let askedAt = now()
            let statuses = try await app.client.statuses(
                of: purchase, in: records.environment, CallOptions(priority: priority, timeLimit: limit))
            let agrees = statuses.map(records.agrees) ?? false
            counts?.confirmations.add(agrees ? ConfirmationLabel.confirmed : .changed)
            return agrees ? atHand.confirm(version, of: key, at: askedAt) : nil
        }
        return confirmed ?? nil
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
        return try await lookUp(app, key, .batch, within: limit).records
    }

    /// Looks a customer up. The records are then at hand, their revocations known, and they are written to the store.
    /// A lookup that takes longer than the limit goes on.
    private func lookUp(
        _ app: App, _ key: RecordsAtHand.Key, _ priority: HourlyBudget.Priority, within limit: Duration,
        isConfirming: Bool = false
    ) async throws(UpstreamError) -> DatedRecords {
        let options = CallOptions(priority: priority, timeLimit: max(limit, Self.limitAlone), callLimit: limit)
        let question = Question(key: key, priority: priority)
        let found = try await lookups.value(for: question, within: limit) { () async throws(UpstreamError) in
            defer { readings.lastPages.withLock { $0[question] = nil } }
            return try await lookUp(app, key, options, isConfirming: isConfirming) {
                readings.lastPages.withLock { $0[question] = .now }
            }
        }
        guard let found else {
            // If pages have stopped arriving, waiting for them would help no later request either.
            let lastPage = readings.lastPages.withLock { $0[question] }
            throw UpstreamError(
                lastPage.map { $0.duration(to: .now) < limit / 2 } ?? false ? .inProgress : .deadline, at: "history",
                "the lookup of the customer takes longer; it continues")
        }
        return found
    }

    private func lookUp(
        _ app: App, _ key: RecordsAtHand.Key, _ options: CallOptions, isConfirming: Bool,
        onPage: @escaping @Sendable () -> Void
    ) async throws(UpstreamError) -> DatedRecords {
        let (called, calledAt) = (ContinuousClock.now, now())
        let earlier = atHand.earlierHistory(of: key, at: calledAt, maximumAge: app.historyAge)
        let records = try await app.client.records(
            for: key.identifiers, bundleId: key.bundleId.rawValue, environment: key.environment,
            since: earlier?.history, options, onPage: onPage)
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
            records, freshness, for: key, from: isConfirming ? .confirmation : .lookup, since: begin, askedAt,
            wholeSince: earlier?.wholeSince)
    }

    package func handles(_ bundleId: BundleIdentifier) -> Bool { apps[bundleId] != nil }

    /// The client of an app, for calls whose results are not kept; `nil` if the app has no key.
    package func client(for bundleId: BundleIdentifier) -> ServerAPIClient? { apps[bundleId]?.client }

    var budgets: [ServerAPIBudget] { apps.values.map(\.budget) }

    /// The remaining calls of each app, sorted by bundle id.
    package var appBudgets: [AppBudget] {
        let uptime = AppStoreClock.system.uptime()
        return apps.map { AppBudget(bundleId: $0, levels: $1.budget.levels(at: uptime)) }
            .sorted { $0.bundleId.rawValue < $1.bundleId.rawValue }
    }
}

/// The remaining calls of an app to the App Store Server API.
package struct AppBudget: Sendable {
    package let bundleId: BundleIdentifier
    /// Only endpoints that were called at least once.
    package let levels: [ServerAPIBudget.Level]
}
