package import StoreTypes
package import Transport

/// Where verifyReceipt is asked, for each environment. Comes from the configuration only, never from a request.
package struct VerifyReceiptEndpoints: Sendable, Hashable {
    /// Apple's own.
    package static let productionDefault = "https://buy.itunes.apple.com/verifyReceipt"
    /// Apple's own.
    package static let sandboxDefault = "https://sandbox.itunes.apple.com/verifyReceipt"

    /// The full URL for production.
    package let production: HTTPURL
    /// The full URL for the sandbox.
    package let sandbox: HTTPURL

    /// Throws `invalidURL`, and `refusedPlainHTTP` for plain http to another machine.
    package init(
        production: String = productionDefault, sandbox: String = sandboxDefault
    ) throws(TransportError) {
        self.production = try HTTPURL(production)
        self.sandbox = try HTTPURL(sandbox)
    }

    /// Nil for Xcode, whose receipts nobody is asked about.
    package subscript(_ environment: AppStoreEnvironment) -> HTTPURL? {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        case .xcode: nil
        }
    }
}
