/// What a `CurlTransport` may use and how it presents itself.
package struct CurlConfiguration: Sendable {
    /// Which proxy requests go through; those to this machine never do.
    package enum Proxy: Sendable, Hashable, CustomStringConvertible {
        /// What HTTPS_PROXY and NO_PROXY say.
        case environment
        /// None, whatever the environment says.
        case direct
        /// This one: `http://host:port` or `https://host:port`, with a user and password if need be.
        case url(String)

        /// Without the URL, which can hold a password.
        package var description: String {
            switch self {
            case .environment: "environment"
            case .direct: "direct"
            case .url: "url(***)"
            }
        }
    }

    /// `receipt-bridge/<version>`.
    package var userAgent: String
    /// PEM certificates to trust, and no others: the system's CA file and folder are not read then.
    package var caFile: String?
    /// The proxy.
    package var proxy: Proxy
    /// Connections to one host and port, and exchanges with it at a time; further ones wait in line.
    package var maximumConnectionsPerHost: Int
    /// Connections, and exchanges at a time, in all.
    package var maximumConnections: Int
    /// Exchanges under way and in line; one more fails with `queueFull`.
    package var maximumOutstanding: Int

    /// The defaults suit Apple's limit of 50 requests a second with answers that take a second.
    package init(
        version: String, caFile: String? = nil, proxy: Proxy = .environment, maximumConnectionsPerHost: Int = 64,
        maximumConnections: Int = 256, maximumOutstanding: Int = 4096
    ) {
        self.userAgent = "receipt-bridge/\(version)"
        self.caFile = caFile
        self.proxy = proxy
        self.maximumConnectionsPerHost = maximumConnectionsPerHost
        self.maximumConnections = maximumConnections
        self.maximumOutstanding = maximumOutstanding
    }

    /// Throws `invalidConfiguration` for what could never work.
    func validate() throws(TransportError) {
        guard maximumConnectionsPerHost > 0, maximumConnections > 0, maximumOutstanding > 0 else {
            throw TransportError(.invalidConfiguration, at: "-", "a connection or queue limit is not positive")
        }
        guard userAgent.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw TransportError(.invalidConfiguration, at: "-", "the version has a character that no header takes")
        }
        if case .url(let url) = proxy {
            let isPlain = url.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            guard isPlain, url.hasPrefix("http://") || url.hasPrefix("https://") else {
                throw TransportError(.invalidConfiguration, at: "-", "the proxy is not an http or https URL")
            }
        }
    }
}
