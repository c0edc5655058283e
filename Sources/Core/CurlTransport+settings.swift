package import ReceiptBridgeTransport

extension CurlTransport {
    /// - Parameters:
    ///   - version: Version of this program, for the header `User-Agent`.
    ///   - limits: `nil` for the limits of a command, which makes fewer exchanges at once than a server.
    ///   - memory: `nil` if the memory of responses is not limited.
    /// - Throws: `TransportError`.
    package convenience init(
        settings: ProxyConfiguration, version: String, limits: ExchangeSchedule.Limits? = nil,
        memory: (any ResponseMemory)? = nil
    ) throws {
        var configuration = CurlConfiguration(
            version: version, proxy: settings.upstreamProxy.map { .url($0) } ?? .environment)
        configuration.memory = memory
        if let limits {
            configuration.limits = limits
        } else if let connections = settings.upstreamConnections {
            configuration.limits.perOrigin = min(Int(connections), configuration.limits.total)
        }
        try self.init(configuration)
    }
}
