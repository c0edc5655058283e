import Synchronization

/// What callers hand to the driver's thread: the only state that two threads share.
final class CurlCommandQueue: Sendable {
    typealias Outcome = Result<HTTPResponse, TransportError>

    /// A request and the task that waits for its outcome.
    struct Submission: Sendable {
        let id: ExchangeSchedule.ID
        let request: HTTPRequest
        let submitted: ContinuousClock.Instant
        let continuation: CheckedContinuation<Outcome, Never>
    }

    enum Message: Sendable {
        case start(Submission)
        case cancel(ExchangeSchedule.ID)
        case stop(at: ContinuousClock.Instant)
    }

    private struct State: Sendable {
        var messages: [Message] = []
        var waker: CurlWaker?
        /// Submitted and not yet resumed.
        var outstanding = 0
        var isClosed = false
        var hasEnded = false
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []

        /// One wake-up for each batch: the driver takes all messages at once.
        mutating func post(_ message: Message) {
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

    /// Takes the submission, or says why not; then the caller has to resume it.
    func submit(_ submission: Submission) -> TransportError? {
        let host = submission.request.url.host
        return state.withLock { state in
            if state.isClosed { return TransportError(.shutDown, at: host, "the transport is shut down") }
            if state.outstanding >= maximumOutstanding {
                return TransportError(.queueFull, at: host, "\(maximumOutstanding) requests are waiting already")
            }
            state.outstanding += 1
            state.post(.start(submission))
            return nil
        }
    }

    func cancel(_ id: ExchangeSchedule.ID) {
        state.withLock { state in
            if !state.hasEnded { state.post(.cancel(id)) }
        }
    }

    /// Refuses new submissions, and lets those taken end until the instant.
    func stop(at instant: ContinuousClock.Instant) {
        state.withLock { state in
            state.isClosed = true
            if !state.hasEnded { state.post(.stop(at: instant)) }
        }
    }

    /// Returns when the driver has ended everything.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waitingForEnd.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: The driver

    /// From now on the driver is woken for each batch.
    func open(_ waker: CurlWaker) {
        state.withLock { $0.waker = waker }
    }

    /// All messages since the last call, in the order they came.
    func drain() -> [Message] {
        state.withLock { state in
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// One submission has its outcome.
    func resumed() {
        state.withLock { $0.outstanding -= 1 }
    }

    /// After this nobody wakes the driver, so that its multi handle can go; returns what it never took.
    func close() -> [Message] {
        state.withLock { state in
            state.isClosed = true
            state.waker = nil
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// The driver's last act.
    func ended() {
        let waiting = state.withLock { state in
            state.hasEnded = true
            defer { state.waitingForEnd = [] }
            return state.waitingForEnd
        }
        for continuation in waiting { continuation.resume() }
    }
}
