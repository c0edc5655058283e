/// The settings of a ``CurlTransport``: trust, proxy, connection limits and user agent.
package struct CurlConfiguration: Sendable {
    /// The proxy to use. Requests to loopback never use a proxy.
    package enum Proxy: Sendable, Hashable, CustomStringConvertible {
        /// Taken from the environment variables HTTPS_PROXY and NO_PROXY.
        case environment
        /// No proxy, whatever the environment contains.
        case direct
        /// A fixed proxy: `http://host:port` or `https://host:port`, with user and password if needed.
        case url(String)

        /// Omits the URL because it can contain a password.
        package var description: String {
            switch self {
            case .environment: "environment"
            case .direct: "direct"
            case .url: "url(***)"
            }
        }
    }

    /// The `User-Agent` header: `receipt-bridge/<version>`.
    package var userAgent: String
    /// The path of a PEM file with the only certificates to trust. If set, the system's CA file and directory are not
    /// read.
    package var caFile: String?
    package var proxy: Proxy
    /// The limits of exchanges at the same time, and so of connections. Further requests wait within their timeout.
    package var limits: ExchangeSchedule.Limits
    /// The memory for responses; `nil` if it is not limited.
    package var memory: (any ResponseMemory)?

    /// The defaults fit Apple's limit of 50 requests a second if a response takes a second.
    package init(
        version: String, caFile: String? = nil, proxy: Proxy = .environment,
        limits: ExchangeSchedule.Limits = .init(total: 256, perOrigin: 64)
    ) {
        self.userAgent = "receipt-bridge/\(version)"
        (self.caFile, self.proxy, self.limits) = (caFile, proxy, limits)
    }

    /// Throws `invalidConfiguration` if a setting cannot work.
    func validate() throws(TransportError) {
        guard min(limits.total, limits.perOrigin, limits.connectingPerOrigin) > 0 else {
            throw TransportError(.invalidConfiguration, at: "-", "connection limits must be positive")
        }
        guard userAgent.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw TransportError(
                .invalidConfiguration, at: "-", "the version has a character that is not allowed in a header")
        }
        if case .url(let url) = proxy {
            let isPlain = url.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            guard isPlain, url.hasPrefix("http://") || url.hasPrefix("https://") else {
                throw TransportError(.invalidConfiguration, at: "-", "the proxy must be an http or https URL")
            }
        }
    }
}
