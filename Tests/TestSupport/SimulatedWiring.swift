import AppStore
import Cryptography
package import Logging
package import Pipeline
package import Simulator
import StoreTypes

extension AppConfiguration {
    /// The first app of a simulated App Store, with its shared secret and its key of the Server API.
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
    /// In front of a simulated App Store, which is trusted; no app is configured yet.
    ///
    /// - Parameters:
    ///   - verifyReceipt: where that service is, as `http://127.0.0.1:8090`.
    ///   - serverAPI: where the App Store Server API is.
    package init(of store: SimulatedStore, verifyReceipt: String, serverAPI: String) {
        self.init()
        trustedRoots = store.pki.roots.map(\.certificate)
        intermediates = store.pki.intermediates.map(\.certificate)
        self.verifyReceipt.production = "\(verifyReceipt)/production/verifyReceipt"
        self.verifyReceipt.sandbox = "\(verifyReceipt)/sandbox/verifyReceipt"
        self.serverAPI.production = "\(serverAPI)/production"
        self.serverAPI.sandbox = "\(serverAPI)/sandbox"
    }

    /// - Parameter port: where both services listen.
    package init(of store: SimulatedStore, port: Int) {
        self.init(of: store, verifyReceipt: "http://127.0.0.1:\(port)", serverAPI: "http://127.0.0.1:\(port)")
    }
}

extension Logger {
    /// Says nothing.
    package static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
