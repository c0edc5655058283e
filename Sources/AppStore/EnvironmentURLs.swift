package import ReceiptBridgeBase
package import ReceiptBridgeTransport

/// The URLs of one of Apple's services, or of a simulator. They come only from the configuration, never from a request.
package struct EnvironmentURLs: Sendable, Hashable {
    private let production: HTTPURL
    private let sandbox: HTTPURL

    /// Creates the URLs of verifyReceipt. Throws `invalidURL`, or `refusedPlainHTTP` for plain http to a host that is
    /// not loopback.
    package init(production: String, sandbox: String) throws(TransportError) {
        self.production = try HTTPURL(production)
        self.sandbox = try HTTPURL(sandbox)
    }

    /// Creates the URLs of the App Store Server API from base URLs with or without a final slash. Throws the same
    /// errors, and `invalidURL` also if there is a query.
    package init(productionBase: String, sandboxBase: String) throws(TransportError) {
        production = try Self.base(productionBase)
        sandbox = try Self.base(sandboxBase)
    }

    private static func base(_ text: String) throws(TransportError) -> HTTPURL {
        let url = try HTTPURL(text.hasSuffix("/") ? String(text.dropLast()) : text)
        guard !url.text.utf8.contains(UInt8(ascii: "?")) else {
            throw TransportError(.invalidURL, at: url.host, "a base URL cannot have a query")
        }
        return url
    }

    /// The URL for an environment. `nil` for Xcode, because no Apple endpoint knows its receipts and transactions.
    package subscript(_ environment: AppStoreEnvironment) -> HTTPURL? {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        case .xcode: nil
        }
    }
}
