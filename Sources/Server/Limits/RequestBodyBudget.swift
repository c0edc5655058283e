import ReceiptBridgeBase
package import Logging
import Synchronization
import ReceiptBridgeTransport
package import ReceiptBridgeCore

/// A memory budget for the bodies of all requests, from their first byte to their response, and for the bodies of the
/// App Store's responses.
///
/// Part of it is reserved for small bodies. If the body of a request does not fit, the upload that makes the least
/// progress is closed; if no other upload is slower, the body itself is refused. A response that does not fit is not
/// read to its end.
package final class RequestBodyBudget: Sendable {
    package struct Limits: Sendable, Hashable {
        /// Bytes of memory for the bodies of all requests together; 256 MiB by default.
        package var total: Int
        /// Bytes of memory that only small bodies of requests may use, and as many for small responses; 64 MiB by
        /// default.
        package var reserve: Int
        /// Bytes of memory for these bodies and those of responses together.
        package var withResponses: Int

        package init(total: Int = 256 << 20, reserve: Int = 64 << 20, withResponses: Int = .max) {
            (self.total, self.reserve, self.withResponses) = (total, reserve, withResponses)
        }
    }

    /// A body of at most this many bytes may use the reserve; 64 KiB.
    static let smallBodyBytes = 64 << 10
    /// A body is in memory as received, and a second time as the decoded receipt text or as the request that is
    /// forwarded instead.
    static let copies = 2

    private let limits: Limits
    private let now: @Sendable () -> Duration
    private let logger: Logger
    private let bodies = Mutex(BufferedBodies())
    private let logThrottle = LogThrottle<String>()

    package init(
        _ limits: Limits = Limits(), logger: Logger,
        now: @escaping @Sendable () -> Duration = RequestBodyBudget.uptime()
    ) {
        (self.limits, self.logger, self.now) = (limits, logger, now)
    }

    /// Returns a clock that starts at zero with this call.
    package static func uptime() -> @Sendable () -> Duration {
        let start = ContinuousClock.now
        return { start.duration(to: .now) }
    }

    package var usedBytes: Int { bodies.withLock { $0.total } }

    package var responseBytes: Int { bodies.withLock { $0.responses } }

    /// Returns a reservation for one body, which counts as an upload until ``RequestBodyReservation/complete()``.
    ///
    /// - Parameter close: Closes the upload. Called at most once, if another body needs the memory.
    package func reservation(close: @escaping @Sendable () -> Void) -> RequestBodyReservation {
        let time = now()
        return RequestBodyReservation(self, bodies.withLock { $0.add(BufferedBody(startedAt: time, close: close)) })
    }

    /// Reserves bytes for a body, closes the uploads that had to make room, and logs that at most once a minute.
    fileprivate func reserve(_ count: Int, for id: BufferedBodies.ID) -> Bool {
        let time = now()
        let (isReserved, closed) = bodies.withLock { $0.reserve(count, for: id, within: limits, at: time) }
        for body in closed { body.close() }
        let isFull = !isReserved || !closed.isEmpty
        if isFull, logThrottle.allows("full", at: time) {
            logger.warning(
                "memory for request bodies exhausted; closing the slowest uploads",
                metadata: ["bytes": .stringConvertible(limits.total)])
        }
        return isReserved
    }

    fileprivate func complete(_ id: BufferedBodies.ID) -> Bool { bodies.withLock { $0.complete(id) } }

    fileprivate func release(_ id: BufferedBodies.ID) { bodies.withLock { _ = $0.remove(id) } }
}

/// The memory that one body uses of a ``RequestBodyBudget``. It is returned by `release` or when this object is
/// deallocated.
package final class RequestBodyReservation: Sendable {
    private let budget: RequestBodyBudget
    private let id: BufferedBodies.ID

    fileprivate init(_ budget: RequestBodyBudget, _ id: BufferedBodies.ID) { (self.budget, self.id) = (budget, id) }

    deinit { release() }

    /// Counts more bytes of the body. Returns `false` if there is no room for them; the reservation is empty then.
    func reserve(_ count: Int) -> Bool { budget.reserve(count, for: id) }

    /// See ``BufferedBodies/complete(_:)``. If `false`, the body may be incomplete.
    func complete() -> Bool { budget.complete(id) }

    package func release() { budget.release(id) }
}

extension RequestBodyBudget: ResponseMemory {
    package func reserve(_ bytes: Int, ofBody size: Int) -> Bool {
        if bodies.withLock({ $0.reserveResponse(bytes, of: size, within: limits) }) { return true }
        if logThrottle.allows("responses", at: now()) {
            logger.warning(
                "memory for responses exhausted; asking the next source instead",
                metadata: ["bytes": .stringConvertible(limits.withResponses)])
        }
        return false
    }

    package func release(_ bytes: Int) { bodies.withLock { $0.releaseResponse(bytes) } }
}

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
