import Base
import DequeModule
package import Logging
import Synchronization

/// A memory budget for the bodies of all requests, from their first byte to their response.
///
/// Part of it is reserved for small bodies. If a body does not fit, the upload that makes the least progress is
/// closed; if no other upload is slower, the body itself is refused.
package final class RequestBodyBudget: Sendable {
    /// The limits of the budget.
    package struct Limits: Sendable, Hashable {
        /// Bytes of memory for all bodies together; 256 MiB by default.
        package var total: Int
        /// Bytes of memory that only small bodies may use; 64 MiB by default.
        package var reserve: Int
        /// Requests whose body is complete and that are being answered at the same time. Further ones wait.
        package var requests: Int

        package init(total: Int = 256 << 20, reserve: Int = 64 << 20, requests: Int = .max) {
            (self.total, self.reserve, self.requests) = (total, reserve, requests)
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
    private let turns = Mutex(Turns())
    private let logThrottle = LogThrottle<String>()

    /// The requests that are being answered, and those that wait for one of them to end.
    private struct Turns {
        var running = 0
        var waiting: Deque<(since: Duration, continuation: CheckedContinuation<Bool, Never>)> = []

        /// A request that has waited this long is refused at its turn, because its client waits for it, too.
        private static let longestWait = Duration.seconds(5)

        /// Ends a request. Returns the next one, and those before it that have waited too long.
        mutating func next(
            at time: Duration
        ) -> (next: CheckedContinuation<Bool, Never>?, refused: [CheckedContinuation<Bool, Never>]) {
            var refused: [CheckedContinuation<Bool, Never>] = []
            while let first = waiting.popFirst() {
                if time - first.since < Self.longestWait { return (first.continuation, refused) }
                refused.append(first.continuation)
            }
            running -= 1
            return (nil, refused)
        }
    }

    /// - Parameter now: Monotonic clock that measures the progress of uploads.
    package init(
        _ limits: Limits = Limits(), logger: Logger,
        now: @escaping @Sendable () -> Duration = RequestBodyBudget.uptime()
    ) {
        self.limits = limits
        self.logger = logger
        self.now = now
    }

    /// Returns a clock that starts at zero with this call.
    package static func uptime() -> @Sendable () -> Duration {
        let start = ContinuousClock.now
        return { start.duration(to: .now) }
    }

    /// Bytes of memory that are in use now.
    package var usedBytes: Int { bodies.withLock { $0.total } }

    /// Number of requests that wait for others to end.
    package var waitingRequests: Int { turns.withLock { $0.waiting.count } }

    /// Returns a reservation for one body, which counts as an upload until ``RequestBodyReservation/complete()``.
    ///
    /// - Parameter close: Closes the upload. Called at most once, if another body needs the memory.
    package func reservation(close: @escaping @Sendable () -> Void) -> RequestBodyReservation {
        let time = now()
        return RequestBodyReservation(
            self, bodies.withLock { $0.add(BufferedBody(startedAt: time, close: close)) })
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

    /// Waits until fewer than the allowed requests are being answered. Returns false if that takes too long.
    fileprivate func begin() async -> Bool {
        let isFree = turns.withLock { turns in
            guard turns.running < limits.requests else { return false }
            turns.running += 1
            return true
        }
        if isFree { return true }
        let time = now()
        if logThrottle.allows("requests", at: time) {
            logger.warning(
                "memory for requests exhausted; further requests wait",
                metadata: ["requests": .stringConvertible(limits.requests)])
        }
        return await withCheckedContinuation { continuation in
            let isFree = turns.withLock { turns in
                if turns.running < limits.requests {
                    turns.running += 1
                    return true
                }
                turns.waiting.append((time, continuation))
                return false
            }
            if isFree { continuation.resume(returning: true) }
        }
    }

    /// Ends a request, and lets the next one begin.
    fileprivate func end() {
        let time = now()
        let (next, refused) = turns.withLock { $0.next(at: time) }
        next?.resume(returning: true)
        for continuation in refused { continuation.resume(returning: false) }
    }

    fileprivate func release(_ id: BufferedBodies.ID) { bodies.withLock { _ = $0.remove(id) } }
}

/// The memory that one body uses of a ``RequestBodyBudget``. It is returned by `release` or when this object is
/// deallocated.
package final class RequestBodyReservation: Sendable {
    private let budget: RequestBodyBudget
    private let id: BufferedBodies.ID
    /// Whether the request is counted as one that is being answered.
    private let isRunning = Atomic<Bool>(false)

    fileprivate init(_ budget: RequestBodyBudget, _ id: BufferedBodies.ID) {
        (self.budget, self.id) = (budget, id)
    }

    deinit { release() }

    /// Waits until the request may begin. Returns false if that takes too long.
    package func begin() async -> Bool {
        let isRunning = await budget.begin()
        if isRunning { self.isRunning.store(true, ordering: .relaxed) }
        return isRunning
    }

    /// Counts more bytes of the body. Returns `false` if there is no room for them; the reservation is empty then.
    func reserve(_ count: Int) -> Bool { budget.reserve(count, for: id) }

    /// Marks the body as complete, so that its upload is not closed any more. Returns `false` if it was closed
    /// before; the body may be incomplete then.
    func complete() -> Bool { budget.complete(id) }

    /// Returns the memory to the budget.
    package func release() {
        budget.release(id)
        if isRunning.exchange(false, ordering: .relaxed) { budget.end() }
    }
}
