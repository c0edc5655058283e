import ReceiptBridgeAppStore
import ReceiptBridgeBase
package import ReceiptBridgeCore
import ReceiptBridgeCryptography
package import Logging
package import ReceiptBridgeSimulator
package import ReceiptBridgeTransport

extension AppConfiguration {
    /// The configuration of the first app of a simulated App Store, with its shared secret and its Server API key.
    package init(of store: SimulatedStore) {
        self.init(bundleId: BundleIdentifier(rawValue: SimulatedApp.first.bundleId))
        sharedSecret = SharedSecret(SimulatedApp.first.sharedSecret)
        serverAPI = ServerAPIAccount(
            issuerId: store.credentials.issuerId, keyId: store.credentials.keyId,
            bundleId: SimulatedApp.first.bundleId,
            privateKey: .text(Redacted(store.credentials.key.privateKeyPEM)))
    }
}

extension ProxyConfiguration {
    /// A deadline of requests that is not over either if many tests run at once.
    package static let patience = Duration.seconds(60)

    /// The configuration of a proxy that uses and trusts a simulated App Store. No app is configured yet.
    ///
    /// - Parameters:
    ///     - verifyReceipt: base URL of verifyReceipt, for example `http://127.0.0.1:8090`.
    ///     - serverAPI: base URL of the App Store Server API.
    package init(of store: SimulatedStore, verifyReceipt: String, serverAPI: String) {
        self.init(trusting: store.pki, verifyReceipt: verifyReceipt, serverAPI: serverAPI)
    }

    /// By default the App Store is one without a socket, for example a ``ScriptedAppStore``.
    package init(
        trusting pki: TestPKI, verifyReceipt: String = "http://127.0.0.1:9", serverAPI: String = "http://127.0.0.1:9"
    ) {
        self.init()
        deadline = Self.patience
        trustedRoots = pki.roots.map(\.certificate)
        intermediates = pki.intermediates.map(\.certificate)
        self.verifyReceipt.production = "\(verifyReceipt)/production/verifyReceipt"
        self.verifyReceipt.sandbox = "\(verifyReceipt)/sandbox/verifyReceipt"
        self.serverAPI.production = "\(serverAPI)/production"
        self.serverAPI.sandbox = "\(serverAPI)/sandbox"
    }

    /// - Parameter port: port of both services on 127.0.0.1.
    package init(of store: SimulatedStore, port: Int) {
        self.init(of: store, verifyReceipt: "http://127.0.0.1:\(port)", serverAPI: "http://127.0.0.1:\(port)")
    }
}

extension SimulatedStore {
    /// Runs `work` while this App Store serves its port, and stops it afterwards.
    package func serving<Value>(_ work: (_ port: Int) async throws -> Value) async throws -> Value {
        let port = try await start()
        return try await finally(stop) { try await work(port) }
    }

    /// The same with a transport to it.
    package func serving<Value>(_ work: (_ port: Int, CurlTransport) async throws -> Value) async throws -> Value {
        try await serving { port in
            let transport = try CurlTransport(CurlConfiguration(version: "test", proxy: .direct))
            return try await finally({ await transport.shutDown() }) { try await work(port, transport) }
        }
    }
}

/// Runs `work`, and then `end` whether it fails or not: a `defer` that may wait.
package func finally<Value>(
    _ end: () async -> Void, _ work: () async throws -> Value
) async throws -> Value {
    let result: Result<Value, any Error>
    do { result = .success(try await work()) } catch { result = .failure(error) }
    await end()
    return try result.get()
}

extension Logger {
    /// A logger that discards everything.
    package static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
