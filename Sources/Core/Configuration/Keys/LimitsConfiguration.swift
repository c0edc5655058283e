/// Limits of the public listener, for a single client and for all clients together.
package struct Limits: Sendable, Hashable {
    /// The rate limit of one client; `nil` for no limit.
    package var requestsPerMinute: Int64?
    /// Open connections of all clients together. Further connections wait until one is closed.
    package var connections: Int64 = 10_000
    /// Open connections of one client; `nil` for no limit. A connection above the limit is closed at once.
    package var connectionsPerClient: Int64?
    /// Timeout in seconds from the first byte of a request to the end of its head.
    package var headSeconds: Int64 = 10
    /// Timeout in seconds from the first byte of a request to the end of its body.
    package var requestSeconds: Int64 = 60

    package init() {}
}

extension ConfigurationFile {
    /// Reads `trustedProxies: [ADDRESS or NETWORK, …]`, for example `[127.0.0.1, 10.0.0.0/8]`.
    static func readTrustedProxies(_ root: ConfigurationNode, _ name: String, _ settings: inout ProxyConfiguration) {
        settings.trustedProxies = (root.texts(name) ?? []).compactMap { text in
            let range = AddressRange(text)
            if range == nil {
                root.note(name, "\(text) is neither an IP address nor a network, for example 10.0.0.0/8")
            }
            return range
        }
    }
}
