import ReceiptBridgeBase
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

    enum Message: Sendable {
        case start(Submission)
        case cancel(ExchangeSchedule.ID)
        case stop(at: ContinuousClock.Instant)
    }

    private struct State: Sendable {
        var messages: [Message] = []
        /// True while the event loop waits for sockets, or is about to.
        var isWaiting = false
        var isClosed = false
        var hasEnded = false

        /// Returns true if the event loop must be woken.
        mutating func enqueue(_ message: Message) -> Bool {
            messages.append(message)
            defer { isWaiting = false }
            return isWaiting
        }
    }

    private let state = Mutex(State())
    private let pipe = WakeUpPipe()
    /// Ends with the last call of the event loop.
    let end = Latch<Void>()

    // MARK: Callers

    /// Enqueues the submission. If it is rejected, returns the error, and the caller must resume the continuation.
    func submit(_ submission: Submission) -> TransportError? {
        let isWoken: Bool? = state.withLock { state in
            state.isClosed ? nil : state.enqueue(.start(submission))
        }
        guard let isWoken else {
            return TransportError(.shutDown, at: submission.request.url.host, "the transport is shut down")
        }
        if isWoken { pipe.wake() }
        return nil
    }

    /// Requests the end of an exchange. Has no effect if it is unknown or has ended.
    func cancel(_ id: ExchangeSchedule.ID) { enqueue(.cancel(id)) }

    /// Rejects new submissions. Accepted ones may run until the given instant.
    func stop(at instant: ContinuousClock.Instant) {
        state.withLock { $0.isClosed = true }
        enqueue(.stop(at: instant))
    }

    private func enqueue(_ message: Message) {
        let isWoken = state.withLock { state in state.hasEnded ? false : state.enqueue(message) }
        if isWoken { pipe.wake() }
    }

    // MARK: Event loop

    /// The descriptor that is readable when the event loop is woken; -1 if the system has none left.
    var wakeUps: Int32 { pipe.reader }

    /// Returns true if there is no message; then the next one wakes the event loop.
    func prepareToWait() -> Bool {
        state.withLock { state in
            state.isWaiting = state.messages.isEmpty
            return state.isWaiting
        }
    }

    /// Clears the wake-up after `wakeUps` became readable.
    func wokeUp() { pipe.clear() }

    /// Removes and returns all messages in the order they were posted.
    func drain() -> [Message] {
        state.withLock { state in
            state.isWaiting = false
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Rejects new messages. Returns those that were never processed.
    func close() -> [Message] {
        state.withLock { state in
            state.isClosed = true
            state.hasEnded = true
            defer { state.messages = [] }
            return state.messages
        }
    }
}
