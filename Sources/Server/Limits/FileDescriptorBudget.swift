package import ReceiptBridgeCore
package import Logging
import NIOCore
package import ReceiptBridgeTransport
import Foundation

/// The division of a process's file descriptors among the parts of the server, so that they never run out. A process
/// without descriptors cannot accept, connect or write, and libdispatch aborts it.
///
/// What files and the operations listener leave is for clients of the public listener and for upstream connections. If
/// it does not suffice for both, each gets half, because a request that is forwarded takes one of each. Upstream
/// connections get at most 4,096 at the expense of clients. For example, with a limit of 1,024 there are at most 469
/// public connections and 268 upstream connections.
package struct FileDescriptorBudget: Sendable, Hashable {
    static let maximumOperations = 64
    /// Maximum number of exchanges with one host, unless `upstream.connections` says otherwise.
    private static let automaticUpstream = 8_192

    /// With fewer public connections than this, and than configured, the server does not start.
    private static let minimumConnections = 8
    /// Number of operations connections with the smallest limit.
    private static let minimumOperations = 8
    /// Number of descriptors for upstream connections with the smallest limit.
    private static let minimumUpstream = 16
    /// Number of descriptors for upstream connections beyond which clients come first.
    private static let sufficientUpstream = 4_096
    /// Further descriptors of an upstream connection while its host name is resolved: two to wake libcurl and two of
    /// the resolver, instead of one socket.
    private static let perConnecting = 3
    /// Maximum number of connections to one host that are being established.
    private static let maximumConnecting = 128
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
    /// Maximum number of upstream exchanges. A host that hangs can use at most three quarters of the total, and the
    /// targets of `forward` a quarter.
    package let upstream: ExchangeSchedule.Limits
    package let eventLoops: Int

    /// `nil` if the limit is too small to serve any client.
    ///
    /// - Parameters:
    ///   - requestedUpstream: `nil` for as many as fit, at most 8,192.
    ///   - exchanges: as many as memory allows.
    package init?(
        limit: Int, connections requested: Int, upstream requestedUpstream: Int? = nil, exchanges: Int = .max,
        cores: Int = System.coreCount
    ) {
        eventLoops = max(1, min(cores, limit / 24))
        let rest = limit - Self.files - Self.perEventLoop * eventLoops
        guard rest >= Self.minimumOperations + Self.minimumUpstream + min(requested, Self.minimumConnections) else {
            return nil
        }
        self.limit = limit
        operations = min(max(rest / 32, Self.minimumOperations), Self.maximumOperations)
        let half = max((rest - operations) / 2, Self.minimumUpstream)
        connections = min(requested, rest - operations - min(half, Self.sufficientUpstream))
        let descriptors = rest - operations - connections
        // Two hosts, of production and of the sandbox, may be connected to for the first time together.
        let connecting = 2 * Self.perConnecting
        let total = min(
            exchanges, max(descriptors - connecting * Self.maximumConnecting, descriptors / (4 + connecting / 2) * 4))
        let perHost = min(requestedUpstream ?? min(Self.automaticUpstream, max(total / 4 * 3, 1)), total)
        let appStore = perHost + perHost / 3 + 1
        upstream = ExchangeSchedule.Limits(
            total: min(total, appStore + appStore / 3), perOrigin: perHost,
            connectingPerOrigin: max(1, min(total / 8, Self.maximumConnecting)),
            // One that waits takes a quarter of the memory of an exchange, beside its client's connection.
            waiting: exchanges > .max / 2 ? .max : 2 * exchanges)
    }

    /// Raises the process's limit and makes NIO use as many threads as fit. To be called before anything is opened.
    ///
    /// - Throws: `ConfigurationError` if the limit is too small.
    package init(
        of settings: ProxyConfiguration, within memory: MemoryBudget, logger: Logger
    ) throws(ConfigurationError) {
        let requested = memory.connections
        let requestedUpstream = settings.upstreamConnections.map(Int.init)
        let limit = FileDescriptorLimit.raiseLimit()
        guard
            let budget = FileDescriptorBudget(
                limit: limit, connections: requested, upstream: requestedUpstream, exchanges: memory.exchanges)
        else {
            throw ConfigurationError([
                "\(limit) file descriptors are too few to run the server: raise the hard limit (ulimit -Hn)"
            ])
        }
        self = budget
        if eventLoops < System.coreCount { NIOSingletons.groupLoopCountSuggestion = eventLoops }
        logger.notice(
            "file descriptor budget",
            metadata: [
                "limit": .stringConvertible(limit), "limits.connections": .stringConvertible(connections),
                "operations": .stringConvertible(operations),
                "upstream.connections": .stringConvertible(upstream.perOrigin),
            ])
        if connections < requested {
            logger.warning(
                "file descriptor limit allows fewer connections than limits.connections; using the lower number",
                metadata: [
                    "limit": .stringConvertible(limit), "connections": .stringConvertible(connections),
                    "limits.connections": .stringConvertible(requested),
                ])
        }
        if let requestedUpstream, upstream.perOrigin < requestedUpstream {
            logger.warning(
                "file descriptors or memory allow fewer connections than upstream.connections; using the lower number",
                metadata: [
                    "limit": .stringConvertible(limit), "connections": .stringConvertible(upstream.perOrigin),
                    "upstream.connections": .stringConvertible(requestedUpstream),
                ])
        }
    }
}

/// The limit of file descriptors of this process: RLIMIT_NOFILE, see getrlimit(2).
package enum FileDescriptorLimit {
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// The hard limit, up to which a process may raise its own limit, and the soft limit, which is in force now.
    package static var limits: (hard: Int, soft: Int) {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return (1_024, 1_024) }
        return (Int(clamping: limit.rlim_max), Int(clamping: limit.rlim_cur))
    }

    /// If the system refuses that, the limit does not change. Returns the soft limit that is in force afterwards.
    @discardableResult
    package static func raiseLimit() -> Int {
        var limit = rlimit()
        if getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            setrlimit(resource, &limit)
        }
        return limits.soft
    }
}
