/// Sends one request and waits for its response.
package protocol HTTPTransport: Sendable {
    /// Returns the complete response, or throws before the request's timeout is over.
    ///
    /// Cancelling the calling task ends the exchange at once with `cancelled`. One call is one exchange: a failure is
    /// never retried, a redirect never followed.
    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse

    /// Refuses new requests with `shutDown`, gives those under way the grace period to finish, then fails what is
    /// left with `shutDown`; returns when nothing runs any more.
    func shutDown(grace: Duration) async
}

extension HTTPTransport {
    /// Shuts down at once.
    package func shutDown() async {
        await shutDown(grace: .zero)
    }
}
