package import BridgeConfiguration
package import Logging
import NIOCore

/// The division of a process's file descriptors among the parts of the server, so that they never run out. A process
/// without descriptors cannot accept, connect or write, and libdispatch aborts it.
///
/// A reserve of 256 descriptors, or half of a small limit, is for files, upstream connections and the operations
/// listener. Clients of the public listener get the rest. For example, with a limit of 1,024 there are at most 768
/// public connections.
package struct FileDescriptorBudget: Sendable, Hashable {
    /// Maximum number of connections to the operations listener.
    package static let maximumOperations = 64
    /// Maximum number of upstream connections.
    package static let maximumUpstream = 256

    /// Descriptors that are not for clients of the public listener, unless the limit is small.
    private static let reserve = 256
    /// With fewer public connections than this, and than configured, the server does not start.
    private static let minimumConnections = 8
    /// Number of operations connections with the smallest limit.
    private static let minimumOperations = 8
    /// Number of upstream connections with the smallest limit.
    private static let minimumUpstream = 4
    /// Most descriptors per upstream connection: four while its host name is resolved (two to wake libcurl and two of
    /// the resolver), then one socket.
    private static let perUpstreamConnection = 4
    /// Descriptors per NIO event loop: for the sockets (epoll or kqueue), a timer and wake-ups.
    private static let perEventLoop = 3
    /// Descriptors of the process itself: standard streams, listeners and the connections that they accept beyond
    /// their limit in one step (3 each), the store with its reader connections, libcurl, the log, files that are read
    /// briefly. 22 are open when the process is idle.
    private static let files = 48

    /// The soft limit of file descriptors, RLIMIT_NOFILE.
    package let limit: Int
    /// Maximum number of open connections of the public listener.
    package let connections: Int
    /// Maximum number of open connections of the operations listener.
    package let operations: Int
    /// Maximum number of upstream connections to all hosts together.
    package let upstream: Int
    /// Number of threads that serve connections.
    package let eventLoops: Int

    /// Divides the limit; `nil` if it is too small to serve any client.
    ///
    /// - Parameter requested: The configured number of connections to the public listener.
    package init?(limit: Int, connections requested: Int, cores: Int = System.coreCount) {
        eventLoops = max(1, min(cores, limit / 24))
        let files = Self.files + Self.perEventLoop * eventLoops
        let minimum = files + Self.minimumOperations + Self.perUpstreamConnection * Self.minimumUpstream
        let available = limit - max(min(Self.reserve, limit / 2), minimum)
        guard available >= min(requested, Self.minimumConnections) else { return nil }
        self.limit = limit
        connections = min(requested, available)
        let rest = limit - connections - files
        operations = min(max(rest / 4, Self.minimumOperations), Self.maximumOperations)
        upstream = min((rest - operations) / Self.perUpstreamConnection, Self.maximumUpstream)
    }

    /// Raises the process's limit, divides it, and makes NIO use as many threads as fit. To be called before anything
    /// is opened.
    ///
    /// - Throws: `ConfigurationError` if the limit is too small.
    package init(of settings: ProxyConfiguration, logger: Logger) throws(ConfigurationError) {
        let requested = Int(settings.limits.connections)
        let limit = FileDescriptorLimit.raiseLimit()
        guard let budget = FileDescriptorBudget(limit: limit, connections: requested) else {
            throw ConfigurationError([
                "\(limit) file descriptors are too few to run the server: raise the hard limit (ulimit -Hn)"
            ])
        }
        self = budget
        if eventLoops < System.coreCount { NIOSingletons.groupLoopCountSuggestion = eventLoops }
        logger.info(
            "file descriptor budget",
            metadata: [
                "limit": "\(limit)", "connections": "\(connections)", "operations": "\(operations)",
                "upstream": "\(upstream)",
            ])
        if connections < requested {
            logger.warning(
                "file descriptor limit allows fewer connections than limits.connections; using the lower number",
                metadata: ["limit": "\(limit)", "connections": "\(connections)", "limits.connections": "\(requested)"])
        }
    }
}
