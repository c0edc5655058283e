package import Logging
import Synchronization

/// The bytes of memory that the bodies of all requests hold together, from their first byte to their answer.
///
/// A part of it is kept for small bodies. A body that finds no room ends the upload that makes the least progress; if no
/// other upload is slower, the body itself is refused.
package final class RequestBodyBudget: Sendable {
    package struct Limits: Sendable, Hashable {
        /// Bytes of memory.
        package var total: Int
        /// Bytes of memory that only small bodies may use.
        package var reserve: Int

        package init(total: Int = 256 << 20, reserve: Int = 64 << 20) {
            (self.total, self.reserve) = (total, reserve)
        }
    }

    /// A body of at most so many bytes may use the reserve.
    static let smallBodyBytes = 64 << 10
    /// A body is in memory as it came, and a second time as the receipt's text or as what is forwarded in its place.
    static let copies = 2

    private let limits: Limits
    private let now: @Sendable () -> Duration
    private let logger: Logger
    private let state = Mutex((bodies: BufferedBodies(), lastLine: Duration?.none))

    /// - Parameter now: the time since some instant, by which the progress of uploads is measured.
    package init(
        _ limits: Limits = Limits(), logger: Logger,
        now: @escaping @Sendable () -> Duration = RequestBodyBudget.uptime()
    ) {
        self.limits = limits
        self.logger = logger
        self.now = now
    }

    /// Counts from this call on.
    package static func uptime() -> @Sendable () -> Duration {
        let start = ContinuousClock.now
        return { start.duration(to: .now) }
    }

    /// Bytes of memory that are counted now.
    package var held: Int { state.withLock { $0.bodies.total } }

    /// A share for one body, which is an upload until ``RequestBodyReservation/complete()``.
    ///
    /// - Parameter close: ends the upload; called at most once, when another body needs the room.
    func share(close: @escaping @Sendable () -> Void) -> RequestBodyReservation {
        let time = now()
        return RequestBodyReservation(self, state.withLock { $0.bodies.add(BufferedBody(begun: time, close: close)) })
    }

    fileprivate func reserve(_ count: Int, for id: BufferedBodies.ID) -> Bool {
        let time = now()
        let (isTaken, closed, isSaid) = state.withLock { state in
            let (isTaken, closed) = state.bodies.reserve(count, for: id, within: limits, at: time)
            let isFull = !isTaken || !closed.isEmpty
            let isSaid = isFull && state.lastLine.map { time - $0 >= .seconds(60) } ?? true
            if isSaid { state.lastLine = time }
            return (isTaken, closed, isSaid)
        }
        for body in closed { body.close() }
        if isSaid {
            logger.warning(
                "request bodies need more memory than all may have; the slowest uploads are closed",
                metadata: ["bytes": "\(limits.total)"])
        }
        return isTaken
    }

    fileprivate func complete(_ id: BufferedBodies.ID) -> Bool { state.withLock { $0.bodies.complete(id) } }

    fileprivate func release(_ id: BufferedBodies.ID) { state.withLock { _ = $0.bodies.remove(id) } }
}

/// What one body holds of a ``RequestBodyBudget``; nothing after `release`, and nothing once this object is gone.
final class RequestBodyReservation: Sendable {
    private let allowance: RequestBodyBudget
    private let id: BufferedBodies.ID

    fileprivate init(_ allowance: RequestBodyBudget, _ id: BufferedBodies.ID) {
        (self.allowance, self.id) = (allowance, id)
    }

    deinit { release() }

    /// Counts more bytes of the body. False if there is no room for them: then the share holds nothing any more.
    func reserve(_ count: Int) -> Bool { allowance.reserve(count, for: id) }

    /// The body is there; from now on no other body ends it. False if one did before: then it may be there in part.
    func complete() -> Bool { allowance.complete(id) }

    func release() { allowance.release(id) }
}
