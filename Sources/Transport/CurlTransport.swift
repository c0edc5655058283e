import ReceiptBridgeBase
import Synchronization

/// An HTTP transport based on libcurl. One thread drives all exchanges; tasks wait without blocking a thread.
///
/// A GET over TLS uses HTTP/2 if the server offers it; all other requests use HTTP/1.1. Connections are reused, with
/// one exchange at a time on each. Redirects are not followed, gzip responses are decoded, and TLS is version 1.2 or
/// later. Nothing is retried, except in one case by libcurl itself: if a reused connection turns out to be closed
/// before the first byte of the response, libcurl sends the request again on a new connection.
///
/// Call `shutDown` after use. If a transport is released without it, its exchanges fail and its thread ends by
/// itself.
package final class CurlTransport: HTTPTransport {
    private let commandQueue: CurlCommandQueue
    private let thread: CurlThread
    private let lastIdentifier = Atomic<ExchangeSchedule.ID>(0)
    private let isJoined = Atomic<Bool>(false)

    /// Throws `invalidConfiguration`, or `internalFault` if no thread can be started.
    package init(_ configuration: CurlConfiguration) throws(TransportError) {
        try configuration.validate()
        let commandQueue = CurlCommandQueue()
        self.commandQueue = commandQueue
        guard let thread = CurlThread({ CurlEventLoop.run(commandQueue, configuration) }) else {
            throw TransportError(.internalFault, at: "-", "cannot start a thread")
        }
        self.thread = thread
    }

    deinit {
        commandQueue.stop(at: .now)
        if !isJoined.load(ordering: .acquiring) { thread.detach() }
    }

    /// Returns the complete response, or throws no later than the request's timeout.
    package func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let id = lastIdentifier.wrappingAdd(1, ordering: .relaxed).newValue
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                submit(
                    CurlCommandQueue.Submission(id: id, request: request, submitted: .now, continuation: continuation))
            }
        } onCancel: {
            commandQueue.cancel(id)
        }
        return try outcome.get()
    }

    /// The cancellation handler may run before the submission and then finds nothing to cancel. In that case the task
    /// is marked as canceled already, so the cancellation is repeated after the submission.
    private func submit(_ submission: CurlCommandQueue.Submission) {
        if let refusal = commandQueue.submit(submission) {
            submission.continuation.resume(returning: .failure(refusal))
        } else if Task.isCancelled {
            commandQueue.cancel(submission.id)
        }
    }

    /// Rejects new requests, lets requests in flight finish during the grace period, fails the rest, and ends the
    /// thread.
    package func shutDown(grace: Duration) async {
        commandQueue.stop(at: .now + grace)
        await commandQueue.end.wait()
        // The thread has ended its work, so joining it does not block.
        if !isJoined.exchange(true, ordering: .acquiringAndReleasing) { thread.join() }
    }
}
