import AppStore
import Cryptography
import Logging
import Pipeline
import Rendering
import Simulator
import StoreTypes
import TestSupport
import Transport

/// A walk whose Server API is a simulated one.
enum ServerAPIWorld {
    /// - Parameter port: where the simulated App Store listens.
    static func pipeline(
        _ store: SimulatedStore, port: Int, transport: CurlTransport, answer: [AnswerSource]
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
        var settings = Settings()
        settings.trustedRoots = store.pki.roots.map(\.certificate)
        settings.intermediates = store.pki.intermediates.map(\.certificate)
        settings.serverAPI.production = "http://127.0.0.1:\(port)/production"
        settings.serverAPI.sandbox = "http://127.0.0.1:\(port)/sandbox"
        settings.apps = [app]
        var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .critical
        return try VerifyReceiptPipeline(
            settings: settings, transport: transport, tables: .bundled, logger: logger, now: { StandIn.noon })
    }
}
