import Synchronization

/// A transport that limits the rate of requests to another transport. A request that comes too early is delayed.
package final class RateLimitedTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let interval: Duration
    /// The earliest time at which the next request may be sent.
    private let next = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameter perSecond: The maximum number of requests per second; above 0.
    package init(_ transport: any HTTPTransport, perSecond: Double) {
        self.transport = transport
        interval = .seconds(1 / perSecond)
    }

    /// Waits for its turn, then sends. Throws `cancelled` if the task is canceled while it waits.
    package func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let turn = next.withLock { next in
            let turn = max(next ?? .now, .now)
            next = turn + interval
            return turn
        }
        do {
            try await Task.sleep(until: turn, clock: .continuous)
        } catch {
            throw TransportError(.cancelled, at: request.url.host, "the waiting task was canceled")
        }
        return try await transport.send(request)
    }

    package func shutDown(grace: Duration) async { await transport.shutDown(grace: grace) }
}
