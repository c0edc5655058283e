import ReceiptBridgeBase
import Synchronization

/// The queue of commands to the event loop's thread, and what the event loop publishes. It is the only state that
/// threads share.
final class PostgreSQLCommandQueue: Sendable {
    enum Message: Sendable {
        case start(PostgreSQLJob)
        case connection(Result<PostgreSQLOpenConnection, PostgreSQLError>)
        case stop
    }

    struct Health: Sendable {
        var connections = 0
        var lastError: PostgreSQLError?
    }

    private struct State: Sendable {
        var messages: [Message] = []
        var health = Health()
        /// Jobs submitted but not yet ended.
        var outstanding = 0
        var isClosed = false
        var hasEnded = false
    }

    /// Interrupts `poll`.
    private let pipe = WakeUpPipe()
    private let state = Mutex(State())
    /// Ends with the last call of the event loop.
    let end = Latch<Void>()

    private static let maximumOutstanding = 16_384

    /// The descriptor that is readable when there are messages; -1 if the system has none left.
    var reader: Int32 { pipe.reader }

    // MARK: Callers

    /// Enqueues the job, or ends it with an error.
    func submit(_ job: PostgreSQLJob) {
        let refusal: PostgreSQLError? = state.withLock { state in
            if state.isClosed { return PostgreSQLError(.closed, "the client is closed") }
            if state.outstanding >= Self.maximumOutstanding {
                return PostgreSQLError(
                    .tooManyConnections, "\(Self.maximumOutstanding) calls are waiting for the database")
            }
            state.outstanding += 1
            enqueue(.start(job), &state)
            return nil
        }
        if let refusal { job.end(.failure(refusal)) }
    }

    /// Enqueues the outcome of a connection attempt. Returns false if the event loop has ended.
    func post(_ outcome: Result<PostgreSQLOpenConnection, PostgreSQLError>) -> Bool {
        state.withLock { state in
            if !state.hasEnded { enqueue(.connection(outcome), &state) }
            return !state.hasEnded
        }
    }

    func stop() {
        state.withLock { state in
            state.isClosed = true
            if !state.hasEnded { enqueue(.stop, &state) }
        }
    }

    var health: Health { state.withLock { $0.health } }

    // MARK: Event loop

    /// Removes and returns all messages in the order they were posted.
    func drain() -> [Message] {
        pipe.clear()
        return state.withLock { state in
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Counts a job as ended.
    func countEnded() { state.withLock { $0.outstanding -= 1 } }

    func publish(_ health: Health) { state.withLock { $0.health = health } }

    /// Rejects new messages. Returns those that were never processed.
    func close() -> [Message] {
        state.withLock { state in
            state.isClosed = true
            state.hasEnded = true
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Wakes the event loop once per batch, because it takes all messages at once.
    private func enqueue(_ message: Message, _ state: inout State) {
        state.messages.append(message)
        if state.messages.count == 1 { pipe.wake() }
    }
}
