import AppStore
import Cryptography
import Ledger
import Logging
import Pipeline
import Rendering
import Simulator
import StoreTypes
import TestSupport
import Transport

/// A walk whose App Store is a simulated one.
enum ServerAPIWorld {
    /// Runs the work in front of a new simulated App Store, and ends all that it needed.
    static func asking<Value>(
        customers: Int = 36, _ work: (SimulatedStore, Int, CurlTransport) async throws -> Value
    ) async throws -> Value {
        let store = try StandIn.store(customers: customers)
        let port = try await store.start()
        let transport = try CurlTransport(CurlConfiguration(version: "test", proxy: .direct))
        let result: Result<Value, any Error>
        do { result = .success(try await work(store, port, transport)) } catch { result = .failure(error) }
        await transport.shutDown()
        await store.stop()
        return try result.get()
    }

    /// - Parameter port: where the simulated App Store listens.
    static func pipeline(
        _ store: SimulatedStore, port: Int, transport: any HTTPTransport, store remembering: BridgeStore? = nil,
        answer: [AnswerSource],
        now: @escaping @Sendable () -> Timestamp = { StandIn.noon },
        changing change: (inout AppSettings) -> Void = { _ in }
    ) throws -> VerifyReceiptPipeline {
        guard let bundleId = BundleIdentifier(rawValue: SimulatedApp.first.bundleId) else {
            throw StandIn.Missing(what: "a bundle id")
        }
        var app = AppSettings(bundleId: bundleId)
        app.appAppleId = SimulatedApp.first.appAppleId
        app.sharedSecret = SharedSecret(SimulatedApp.first.sharedSecret)
        app.answer = answer
        app.serverAPI = ServerAPIAccount(
            issuerId: store.credentials.issuerId, keyId: store.credentials.keyId, bundleId: bundleId.rawValue,
            privateKey: .text(Redacted(store.credentials.key.privateKeyPEM)))
        change(&app)
        var settings = Settings()
        settings.trustedRoots = store.pki.roots.map(\.certificate)
        settings.intermediates = store.pki.intermediates.map(\.certificate)
        settings.serverAPI.production = "http://127.0.0.1:\(port)/production"
        settings.serverAPI.sandbox = "http://127.0.0.1:\(port)/sandbox"
        settings.verifyReceipt.production = "http://127.0.0.1:\(port)/production/verifyReceipt"
        settings.verifyReceipt.sandbox = "http://127.0.0.1:\(port)/sandbox/verifyReceipt"
        settings.apps = [app]
        var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .critical
        return try Pipelines(
            settings: settings, transport: transport, store: remembering, tables: .bundled, logger: logger, now: now,
            sleep: { _ in }
        ).verifyReceipt
    }
}
