/// A client that sends one HTTP request and waits for its response.
package protocol HTTPTransport: Sendable {
    /// Returns the complete response, or throws no later than the request's timeout.
    ///
    /// Canceling the calling task ends the exchange at once with `cancelled`. One call is one exchange: a failed
    /// request is never retried and a redirect is never followed.
    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse

    /// Rejects new requests with `shutDown`, lets requests in flight finish during the grace period, then fails the
    /// rest with `shutDown`. Returns when no exchange is running.
    func shutDown(grace: Duration) async
}

extension HTTPTransport {
    /// Shuts down without a grace period.
    package func shutDown() async {
        await shutDown(grace: .zero)
    }
}
