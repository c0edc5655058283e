import ReceiptBridgeBase

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
    package func shutDown() async { await shutDown(grace: .zero) }
}

/// The HTTP methods used by the App Store's services.
package enum HTTPMethod: String, Sendable, Hashable {
    /// Reads a resource; has no body.
    case get = "GET"
    /// Sends a body, always with `Content-Length`.
    case post = "POST"
    /// Sends a body, always with `Content-Length`.
    case put = "PUT"
}

/// An HTTP request that is ready to be sent. Every check that can reject a request runs when it is created.
package struct HTTPRequest: Sendable {
    package let method: HTTPMethod
    package let url: HTTPURL
    package let headers: HTTPHeaders
    /// The body; empty for a GET.
    package let body: [UInt8]
    /// The time from `send` to the last byte of the response, including the time in the queue for a connection.
    package let timeout: Duration
    /// The time from the start of connecting to the end of the TLS handshake.
    package let connectTimeout: Duration
    /// The maximum size of the response body in bytes. A longer body ends the exchange with `responseTooLarge`.
    package let maximumResponseBytes: Int
    /// On whose behalf the request is sent, for example the bundle id of an app. Owners take turns if requests have to
    /// wait for a connection. The number of different owners must be limited.
    package var owner = ""
    /// False if anybody could have written what is sent, such as a receipt that is not authentic. Its failure may be
    /// its sender's doing, so it is no evidence against the host: see ``CircuitBreaker``.
    package var isGenuine = true
    /// True if the request delivers a notification to a target of `forward`. Deliveries have a small share of the
    /// connections, which the App Store's hosts do not wait for. Only the status of the response counts, so its body is
    /// not decoded.
    package var isDelivery = false
    /// True if the same request was sent before for the same purpose. Retries are limited: see
    /// ``CircuitBreakingTransport``.
    package var isRetry = false
    /// Returns whether a response comes from the requested service. If not, for example for the error page of a
    /// gateway, the response counts as a failure of the host.
    package var isUsable: @Sendable (HTTPResponse) -> Bool = { _ in true }

    /// Throws `invalidRequest` if a header name is not a token, a header value has a line break or control character,
    /// a header is reserved for the transport, a GET has a body, a limit is not positive, or a timeout is longer than
    /// a day.
    package init(
        method: HTTPMethod, url: HTTPURL, headers: HTTPHeaders = [:], body: [UInt8] = [],
        timeout: Duration = .seconds(30), connectTimeout: Duration = .seconds(5),
        maximumResponseBytes: Int = 32 << 20
    ) throws(TransportError) {
        if let rejected = headers.firstRejected() {
            throw TransportError(.invalidRequest, at: url.host, rejected.reason)
        }
        guard method != .get || body.isEmpty else {
            throw TransportError(.invalidRequest, at: url.host, "a GET request cannot have a body")
        }
        guard min(timeout, connectTimeout) > .zero, max(timeout, connectTimeout) <= .days(1), maximumResponseBytes > 0
        else { throw TransportError(.invalidRequest, at: url.host, "a timeout or size limit is out of range") }
        (self.method, self.url, self.headers) = (method, url, headers)
        (self.body, self.timeout, self.connectTimeout) = (body, timeout, connectTimeout)
        self.maximumResponseBytes = maximumResponseBytes
    }

    /// Creates a request from the text of a URL. Also throws the errors of ``HTTPURL``.
    package init(
        method: HTTPMethod, url: String, headers: HTTPHeaders = [:], body: [UInt8] = [],
        timeout: Duration = .seconds(30), connectTimeout: Duration = .seconds(5),
        maximumResponseBytes: Int = 32 << 20
    ) throws(TransportError) {
        try self.init(
            method: method, url: HTTPURL(url), headers: headers, body: body, timeout: timeout,
            connectTimeout: connectTimeout, maximumResponseBytes: maximumResponseBytes)
    }
}

/// A complete HTTP response with any status. A redirect is returned as it is and never followed.
package struct HTTPResponse: Sendable {
    package let status: Int
    /// The headers of the final response, without those of interim (1xx) responses or of a proxy's CONNECT response.
    package let headers: HTTPHeaders
    /// The body. If the server compressed it with gzip, it is decoded, except for a delivery.
    package let body: [UInt8]
    /// The memory of the body, to be kept as long as the body is; `nil` if it is not limited.
    package let memory: ResponseReservation?

    /// Creates a response. Test transports use this too.
    package init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = [], memory: ResponseReservation? = nil) {
        (self.status, self.headers, self.body, self.memory) = (status, headers, body, memory)
    }
}
