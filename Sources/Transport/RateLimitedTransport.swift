import Synchronization

/// Another transport, with a pause before a request where the one before was sent too short a time ago.
package final class RateLimitedTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let interval: Duration
    /// When the next request may be sent.
    private let next = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameter perSecond: requests, above 0.
    package init(_ transport: any HTTPTransport, perSecond: Double) {
        self.transport = transport
        interval = .seconds(1 / perSecond)
    }

    package func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let turn = next.withLock { next in
            let turn = max(next ?? .now, .now)
            next = turn + interval
            return turn
        }
        do {
            try await Task.sleep(until: turn, clock: .continuous)
        } catch {
            throw TransportError(.cancelled, at: request.url.host, "the waiting task was cancelled")
        }
        return try await transport.send(request)
    }

    package func shutDown(grace: Duration) async { await transport.shutDown(grace: grace) }
}
