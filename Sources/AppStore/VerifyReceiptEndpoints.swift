package import StoreTypes
package import Transport

/// The verifyReceipt URL of each environment. They come only from the configuration, never from a request.
package struct VerifyReceiptEndpoints: Sendable, Hashable {
    /// Apple's production endpoint.
    package static let productionDefault = "https://buy.itunes.apple.com/verifyReceipt"
    /// Apple's sandbox endpoint.
    package static let sandboxDefault = "https://sandbox.itunes.apple.com/verifyReceipt"

    /// The full URL of the production endpoint.
    package let production: HTTPURL
    /// The full URL of the sandbox endpoint.
    package let sandbox: HTTPURL

    /// Throws `invalidURL`, or `refusedPlainHTTP` for plain http to a host that is not loopback.
    package init(
        production: String = productionDefault, sandbox: String = sandboxDefault
    ) throws(TransportError) {
        self.production = try HTTPURL(production)
        self.sandbox = try HTTPURL(sandbox)
    }

    /// The URL for an environment. `nil` for Xcode, because no Apple endpoint knows its receipts.
    package subscript(_ environment: AppStoreEnvironment) -> HTTPURL? {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        case .xcode: nil
        }
    }
}
