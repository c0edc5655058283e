import Synchronization

/// HTTP over libcurl: one thread drives all exchanges, tasks wait without blocking one.
///
/// A GET goes by HTTP/2 over TLS where the server offers it, all else by HTTP/1.1; connections are kept, with one
/// exchange on each at a time. Redirects are not followed, compression is not asked for, TLS is 1.2 or newer. Nothing is
/// retried, but for one case of libcurl's: a kept connection that turns out to be closed before a byte of response is
/// replaced and the request sent again.
///
/// Call `shutDown` when done. A transport that is merely dropped fails what is under way and ends its thread by itself.
package final class CurlTransport: HTTPTransport {
    private let commandQueue: CurlCommandQueue
    private let thread: CurlThread
    private let lastIdentifier = Atomic<ExchangeSchedule.ID>(0)
    private let isJoined = Atomic<Bool>(false)

    /// Throws `invalidConfiguration`, or `internalFault` when there is no thread to be had.
    package init(_ configuration: CurlConfiguration) throws(TransportError) {
        try configuration.validate()
        let commandQueue = CurlCommandQueue(maximumOutstanding: configuration.maximumOutstanding)
        self.commandQueue = commandQueue
        guard let thread = CurlThread({ CurlEventLoop.run(commandQueue, configuration) }) else {
            throw TransportError(.internalFault, at: "-", "no thread could be started")
        }
        self.thread = thread
    }

    deinit {
        commandQueue.stop(at: .now)
        if !isJoined.load(ordering: .acquiring) { thread.detach() }
    }

    /// Returns the complete response, or throws before the request's timeout is over.
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

    /// The handler may run before the submission and then cancels nothing; but then the task knows that it is
    /// cancelled, and says so again after the submission.
    private func submit(_ submission: CurlCommandQueue.Submission) {
        if let refusal = commandQueue.submit(submission) {
            submission.continuation.resume(returning: .failure(refusal))
        } else if Task.isCancelled {
            commandQueue.cancel(submission.id)
        }
    }

    /// Refuses new requests, gives those under way the grace period, fails what is left, and ends the thread.
    package func shutDown(grace: Duration) async {
        commandQueue.stop(at: .now + grace)
        await commandQueue.waitForEnd()
        // The thread has nothing left to do but to return.
        if !isJoined.exchange(true, ordering: .acquiringAndReleasing) { thread.join() }
    }
}
