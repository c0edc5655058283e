package import StoreTypes
package import Transport

/// Where the App Store Server API is asked, for each environment. Comes from the configuration only, never from a
/// request.
package struct ServerAPIHosts: Sendable, Hashable {
    /// Apple's own, since May 2026; `api.storekit.itunes.apple.com` is the former one and still answers.
    package static let productionDefault = "https://api.storekit.apple.com"
    /// Apple's own, since May 2026; `api.storekit-sandbox.itunes.apple.com` is the former one and still answers.
    package static let sandboxDefault = "https://api.storekit-sandbox.apple.com"

    private let production: HTTPURL
    private let sandbox: HTTPURL

    /// Base URLs, with or without a final slash. Throws `invalidURL`, also for one with a query, and `refusedPlainHTTP`
    /// for plain http to another machine.
    package init(
        production: String = productionDefault, sandbox: String = sandboxDefault
    ) throws(TransportError) {
        self.production = try Self.base(production)
        self.sandbox = try Self.base(sandbox)
    }

    private static func base(_ text: String) throws(TransportError) -> HTTPURL {
        let url = try HTTPURL(text.hasSuffix("/") ? String(text.dropLast()) : text)
        guard !url.text.utf8.contains(UInt8(ascii: "?")) else {
            throw TransportError(.invalidURL, at: url.host, "a base URL has no query")
        }
        return url
    }

    /// Nil for Xcode, whose transactions nobody is asked about.
    package subscript(_ environment: AppStoreEnvironment) -> HTTPURL? {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        case .xcode: nil
        }
    }
}
