package import Logging
import NIOCore
package import Pipeline

/// How the file descriptors of a server are divided, so that it never runs out of them: a process that does cannot accept, ask
/// or write, and libdispatch ends it.
///
/// A reserve of 256, or of half of a small limit, is for files, upstream connections and the operations listener. Clients of
/// the public listener get the rest.
package struct FileDescriptorBudget: Sendable, Hashable {
    package static let mostOperations = 64
    package static let mostUpstream = 256

    private static let reserve = 256
    private static let leastConnections = 8
    private static let leastOperations = 8
    private static let leastUpstream = 4
    /// An upstream connection has one socket; before it is open its name may be resolved, which takes two to wake libcurl and
    /// two of the resolver.
    private static let eachUpstream = 4
    /// An event loop of NIO waits for sockets, for a timer and to be woken.
    private static let eachEventLoop = 3
    /// Of the process itself: standard streams, listeners and what they accept beyond their limit in one step (3 each), the
    /// store with its readers, libcurl, the log, files that are read for a moment. 22 are open when it is idle.
    private static let files = 48

    /// RLIMIT_NOFILE.
    package let limit: Int
    /// Open on the public listener at the same time.
    package let connections: Int
    /// The same of the operations listener.
    package let operations: Int
    /// To all hosts together.
    package let upstream: Int
    /// Threads that serve connections.
    package let eventLoops: Int

    /// Nil if the limit is too small to serve anybody.
    ///
    /// - Parameter connections: that are wanted on the public listener.
    package init?(limit: Int, connections wanted: Int, cores: Int = System.coreCount) {
        eventLoops = max(1, min(cores, limit / 24))
        let files = Self.files + Self.eachEventLoop * eventLoops
        let least = files + Self.leastOperations + Self.eachUpstream * Self.leastUpstream
        let available = limit - max(min(Self.reserve, limit / 2), least)
        guard available >= min(wanted, Self.leastConnections) else { return nil }
        self.limit = limit
        connections = min(wanted, available)
        let rest = limit - connections - files
        operations = min(max(rest / 4, Self.leastOperations), Self.mostOperations)
        upstream = min((rest - operations) / Self.eachUpstream, Self.mostUpstream)
    }

    /// Raises the limit, divides it, and makes NIO use as many threads as fit: before anything is opened.
    ///
    /// - Throws: `ConfigurationError` if the limit is too small.
    package init(of settings: ProxyConfiguration, logger: Logger) throws(ConfigurationError) {
        let wanted = Int(settings.limits.connections)
        let limit = FileDescriptorLimit.raiseLimit()
        guard let budget = FileDescriptorBudget(limit: limit, connections: wanted) else {
            throw ConfigurationError([
                "\(limit) file descriptors are too few to serve: raise the hard limit (ulimit -Hn)"
            ])
        }
        self = budget
        if eventLoops < System.coreCount { NIOSingletons.groupLoopCountSuggestion = eventLoops }
        logger.info(
            "file descriptors",
            metadata: [
                "limit": "\(limit)", "connections": "\(connections)", "operations": "\(operations)",
                "upstream": "\(upstream)",
            ])
        if connections < wanted {
            logger.warning(
                "the limit of file descriptors serves fewer connections than limits.connections",
                metadata: ["limit": "\(limit)", "connections": "\(connections)", "limits.connections": "\(wanted)"])
        }
    }
}
