package import ReceiptBridgeCore
package import Logging
import ReceiptBridgeBase

/// The division of the memory that the process may use, so that the kernel does not end it: that would deny every
/// client.
///
/// A quarter each is for exchanges with the App Store and the requests that wait for them, for open connections, for
/// bodies, and for the process itself and its caches. With 8 GB or more nothing is limited beyond the configuration.
/// For example, in a container of 256 MB there are 397 exchanges at the same time, and the next ones wait.
package struct MemoryBudget: Sendable, Hashable {
    /// Bytes of memory of an exchange and its request, over TLS on both sides. Measured with
    /// `Tests/Scripts/bench/distance.py --tls`.
    private static let perExchange = 165 << 10
    /// Bytes of memory of an open connection without a request.
    private static let perConnection = 40 << 10

    /// The smallest limit of the process in bytes: that of the machine or of a control group.
    package let limit: Int
    /// Maximum number of open connections of the public listener.
    package let connections: Int
    package let exchanges: Int
    /// The limits of bodies of requests and of responses. Those of requests have two thirds of the quarter at most.
    package let bodies: RequestBodyBudget.Limits

    package init(limit: Int, connections requested: Int) {
        self.limit = limit
        connections = min(requested, max(limit / 4 / Self.perConnection, 64))
        exchanges = max(limit / 4 / Self.perExchange, 16)
        let largest = RequestBodyBudget.Limits()
        let total = min(largest.total, max(limit / 6, 16 << 20))
        bodies = RequestBodyBudget.Limits(
            total: total, reserve: min(largest.reserve, total / 4), withResponses: max(limit / 4, total / 2 * 3))
    }

    package static func ofProcess(connections requested: Int) -> MemoryBudget {
        MemoryBudget(limit: ProcessMemory.limit, connections: requested)
    }

    /// Logs the division if it allows fewer connections or exchanges than the configuration.
    package init(of settings: ProxyConfiguration, logger: Logger) {
        let requested = Int(settings.limits.connections)
        self = .ofProcess(connections: requested)
        guard min(connections, exchanges) < requested else { return }
        logger.notice(
            "memory budget",
            metadata: [
                "bytes": .stringConvertible(limit), "connections": .stringConvertible(connections),
                "exchanges": .stringConvertible(exchanges),
                "limits.connections": .stringConvertible(requested),
            ])
    }
}
