package import StoreTypes
package import Transport

/// The base URL of the App Store Server API for each environment. They come only from the configuration, never from a
/// request.
package struct ServerAPIHosts: Sendable, Hashable {
    /// Apple's production host since May 2026. The previous one, `api.storekit.itunes.apple.com`, still works.
    package static let productionDefault = "https://api.storekit.apple.com"
    /// Apple's sandbox host since May 2026. The previous one, `api.storekit-sandbox.itunes.apple.com`, still works.
    package static let sandboxDefault = "https://api.storekit-sandbox.apple.com"

    private let production: HTTPURL
    private let sandbox: HTTPURL

    /// Creates the URLs from base URLs with or without a final slash. Throws `invalidURL`, also if there is a query,
    /// or `refusedPlainHTTP` for plain http to a host that is not loopback.
    package init(
        production: String = productionDefault, sandbox: String = sandboxDefault
    ) throws(TransportError) {
        self.production = try Self.base(production)
        self.sandbox = try Self.base(sandbox)
    }

    private static func base(_ text: String) throws(TransportError) -> HTTPURL {
        let url = try HTTPURL(text.hasSuffix("/") ? String(text.dropLast()) : text)
        guard !url.text.utf8.contains(UInt8(ascii: "?")) else {
            throw TransportError(.invalidURL, at: url.host, "a base URL cannot have a query")
        }
        return url
    }

    /// The base URL for an environment. `nil` for Xcode, because no Apple endpoint knows its transactions.
    package subscript(_ environment: AppStoreEnvironment) -> HTTPURL? {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        case .xcode: nil
        }
    }
}
