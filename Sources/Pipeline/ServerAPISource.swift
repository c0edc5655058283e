import AppStore
import StoreTypes
import Transport

/// The App Store Server API as a source: one client for each app that has a key, and what they were told moments ago.
package struct ServerAPISource: Sendable {
    private struct App: Sendable {
        let client: ServerAPIClient
        let budget: ServerAPIBudget
        /// Of kept records, in milliseconds.
        let lifetime: Int64
    }

    private let apps: [BundleIdentifier: App]
    private let cache = RecordCache()
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - share: the part of Apple's hourly limits to use, above 0 and at most 1.
    ///   - reserve: the part of that which live traffic has for itself.
    init(
        settings: Settings, transport: any HTTPTransport, verifier: SignedPayloadVerifier,
        now: @escaping @Sendable () -> Timestamp, share: Double = 1, reserve: Double = 0.3,
        retry: RetryPolicy = RetryPolicy()
    ) throws {
        let hosts: ServerAPIHosts
        do throws(TransportError) {
            hosts = try ServerAPIHosts(
                production: settings.serverAPI.production, sandbox: settings.serverAPI.sandbox)
        } catch {
            throw SettingsError(["upstream.serverAPI: \(error)"])
        }
        let clock = AppStoreClock(now: now, uptime: AppStoreClock.system.uptime, sleep: AppStoreClock.system.sleep)
        let parts = ServerAPIClient.Parts(
            transport: transport, hosts: hosts, verifier: verifier, retry: retry, clock: clock)
        var apps: [BundleIdentifier: App] = [:]
        for app in settings.apps {
            guard let bundleId = app.bundleId, let account = app.serverAPI else { continue }
            let budget = ServerAPIBudget(share: share, reserve: reserve)
            apps[bundleId] = App(
                client: ServerAPIClient(account: account, parts: parts, budget: budget), budget: budget,
                lifetime: app.cacheSeconds * 1000)
        }
        self.apps = apps
        self.now = now
    }

    /// What the API knows of the customer of these identifiers, perhaps from moments ago; nil where the app has no key.
    ///
    /// - Parameters:
    ///   - keys: not empty.
    ///   - environment: nil asks production, then the sandbox.
    ///   - isFresh: asks in any case, though not for long: there is an answer already.
    ///   - priority: who asks.
    func records(
        for keys: LookupKeys, bundleId: BundleIdentifier, environment: AppStoreEnvironment?, isFresh: Bool = false,
        priority: HourlyBudget.Priority = .live
    ) async throws(ServerAPIError) -> CustomerRecords? {
        guard let app = apps[bundleId] else { return nil }
        let key = RecordCache.Key(bundleId: bundleId, environment: environment, identifiers: keys)
        if !isFresh, let records = cache.records(for: key, at: now()) { return records }
        let records = try await app.client.records(
            for: keys, bundleId: bundleId.rawValue, environment: environment,
            CallOptions(priority: priority, timeLimit: isFresh ? .seconds(3) : .seconds(9)))
        cache.keep(records, for: key, at: now(), lifetime: app.lifetime)
        return records
    }

    /// Whether the app has a key.
    func serves(_ bundleId: BundleIdentifier) -> Bool { apps[bundleId] != nil }

    /// The app's client, for calls that nothing is kept of; nil where the app has no key.
    func client(for bundleId: BundleIdentifier) -> ServerAPIClient? { apps[bundleId]?.client }

    /// Of all apps with a key.
    var budgets: [ServerAPIBudget] { apps.values.map(\.budget) }
}
