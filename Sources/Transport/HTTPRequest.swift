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
    /// The HTTP method.
    package let method: HTTPMethod
    /// The URL to send the request to.
    package let url: HTTPURL
    /// The headers set by the caller.
    package let headers: HTTPHeaders
    /// The body; empty for a GET.
    package let body: [UInt8]
    /// The time from `send` to the last byte of the response, including the time in the queue for a connection.
    package let timeout: Duration
    /// The time from the start of connecting to the end of the TLS handshake.
    package let connectTimeout: Duration
    /// The maximum size of the response body in bytes. A longer body ends the exchange with `responseTooLarge`.
    package let maximumResponseBytes: Int
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
        if let rejected = headers.firstRefused() {
            throw TransportError(.invalidRequest, at: url.host, rejected.reason)
        }
        guard method != .get || body.isEmpty else {
            throw TransportError(.invalidRequest, at: url.host, "a GET request cannot have a body")
        }
        let day = Duration.seconds(86_400)
        guard timeout > .zero, connectTimeout > .zero, maximumResponseBytes > 0, max(timeout, connectTimeout) <= day
        else {
            throw TransportError(.invalidRequest, at: url.host, "a timeout or size limit is out of range")
        }
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.connectTimeout = connectTimeout
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
