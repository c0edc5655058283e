import Synchronization

/// The queue of commands from callers to the event loop's thread. It is the only state that threads share.
final class CurlCommandQueue: Sendable {
    typealias Outcome = Result<HTTPResponse, TransportError>

    /// A request and the continuation of the task that waits for its outcome.
    struct Submission: Sendable {
        let id: ExchangeSchedule.ID
        let request: HTTPRequest
        let submitted: ContinuousClock.Instant
        let continuation: CheckedContinuation<Outcome, Never>
    }

    /// A command for the event loop.
    enum Message: Sendable {
        case start(Submission)
        case cancel(ExchangeSchedule.ID)
        case stop(at: ContinuousClock.Instant)
    }

    private struct State: Sendable {
        var messages: [Message] = []
        var waker: CurlWaker?
        /// Exchanges submitted but not yet resumed.
        var outstanding = 0
        var isClosed = false
        var hasEnded = false
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []

        /// Wakes the event loop once per batch, because it takes all messages at once.
        mutating func enqueue(_ message: Message) {
            messages.append(message)
            if messages.count == 1 { waker?.wake() }
        }
    }

    private let state = Mutex(State())
    private let maximumOutstanding: Int

    init(maximumOutstanding: Int) {
        self.maximumOutstanding = maximumOutstanding
    }

    // MARK: Callers

    /// Enqueues the submission. If it is rejected, returns the error, and the caller must resume the continuation.
    func submit(_ submission: Submission) -> TransportError? {
        let host = submission.request.url.host
        return state.withLock { state in
            if state.isClosed { return TransportError(.shutDown, at: host, "the transport is shut down") }
            if state.outstanding >= maximumOutstanding {
                return TransportError(
                    .queueFull, at: host, "\(maximumOutstanding) requests are already in flight or queued")
            }
            state.outstanding += 1
            state.enqueue(.start(submission))
            return nil
        }
    }

    /// Requests the end of an exchange. Has no effect if it is unknown or has ended.
    func cancel(_ id: ExchangeSchedule.ID) {
        state.withLock { state in
            if !state.hasEnded { state.enqueue(.cancel(id)) }
        }
    }

    /// Rejects new submissions. Accepted ones may run until the given instant.
    func stop(at instant: ContinuousClock.Instant) {
        state.withLock { state in
            state.isClosed = true
            if !state.hasEnded { state.enqueue(.stop(at: instant)) }
        }
    }

    /// Returns when the event loop has ended every exchange.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waitingForEnd.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: Event loop

    /// Sets the waker. From now on the event loop is woken for each batch.
    func open(_ waker: CurlWaker) {
        state.withLock { $0.waker = waker }
    }

    /// Removes and returns all messages in the order they were posted.
    func drain() -> [Message] {
        state.withLock { state in
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Counts a submission as finished.
    func countFinished() {
        state.withLock { $0.outstanding -= 1 }
    }

    /// Rejects new submissions and drops the waker, so that the multi handle can be freed. Returns the messages that
    /// were never processed.
    func close() -> [Message] {
        state.withLock { state in
            state.isClosed = true
            state.waker = nil
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Resumes the callers of `waitForEnd`. The last call of the event loop.
    func signalEnd() {
        let waiting = state.withLock { state in
            state.hasEnded = true
            defer { state.waitingForEnd = [] }
            return state.waitingForEnd
        }
        for continuation in waiting { continuation.resume() }
    }
}
