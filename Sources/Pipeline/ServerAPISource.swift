import AppStore
import ReceiptDecoding
import StoreTypes
import Transport

/// The App Store Server API as a source: one client for each app that has a key.
package struct ServerAPISource: Sendable {
    private let clients: [BundleIdentifier: ServerAPIClient]

    init(
        settings: Settings, transport: any HTTPTransport, verifier: SignedPayloadVerifier,
        now: @escaping @Sendable () -> Timestamp
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
            transport: transport, hosts: hosts, verifier: verifier, clock: clock)
        var clients: [BundleIdentifier: ServerAPIClient] = [:]
        for app in settings.apps {
            guard let bundleId = app.bundleId, let account = app.serverAPI else { continue }
            clients[bundleId] = ServerAPIClient(account: account, parts: parts, budget: ServerAPIBudget())
        }
        self.clients = clients
    }

    /// What the API knows of the customer of an authentic receipt; nil where the app has no key.
    ///
    /// - Parameter keys: not empty.
    func records(for keys: LookupKeys, of receipt: Receipt) async throws(ServerAPIError) -> CustomerRecords? {
        try await records(for: keys, bundleId: receipt.bundleId, environment: receipt.environment)
    }

    /// What the API knows of the customer of a transaction; nil where the app has no key.
    ///
    /// - Parameters:
    ///   - keys: not empty.
    ///   - environment: nil asks production, then the sandbox.
    func records(
        for keys: LookupKeys, bundleId: BundleIdentifier, environment: AppStoreEnvironment?
    ) async throws(ServerAPIError) -> CustomerRecords? {
        guard let client = clients[bundleId] else { return nil }
        return try await client.records(for: keys, bundleId: bundleId.rawValue, environment: environment)
    }

    /// Whether the app has a key.
    func serves(_ bundleId: BundleIdentifier) -> Bool { clients[bundleId] != nil }
}
