/// The methods that the App Store's services take.
package enum HTTPMethod: String, Sendable, Hashable {
    /// Reads; has no body.
    case get = "GET"
    /// Sends a body, always with its length.
    case post = "POST"
    /// Sends a body, always with its length.
    case put = "PUT"
}

/// One request that is fit to be sent: whatever could be refused about it was refused when it was made.
package struct HTTPRequest: Sendable {
    /// The method.
    package let method: HTTPMethod
    /// Where to.
    package let url: HTTPURL
    /// The caller's headers.
    package let headers: HTTPHeaders
    /// The body; empty on a GET.
    package let body: [UInt8]
    /// From `send` to the last byte of the response, waiting for a connection included.
    package let timeout: Duration
    /// From the start of connecting to the end of the TLS handshake.
    package let connectTimeout: Duration
    /// A longer body ends the exchange with `responseTooLarge`.
    package let maximumResponseBytes: Int
    /// The same was asked before, for the same purpose: see ``CircuitBreakingTransport``.
    package var isRepetition = false
    /// Whether a response is one of the service that was asked. One that is not counts as a failure of its host.
    package var isUsable: @Sendable (HTTPResponse) -> Bool = { _ in true }

    /// Throws `invalidRequest` for header names that are no tokens, header values with line breaks or control
    /// characters, headers that frame the message, a body on a GET, limits that are not positive, and timeouts over a day.
    package init(
        method: HTTPMethod, url: HTTPURL, headers: HTTPHeaders = [:], body: [UInt8] = [],
        timeout: Duration = .seconds(30), connectTimeout: Duration = .seconds(5),
        maximumResponseBytes: Int = 32 << 20
    ) throws(TransportError) {
        if let refused = headers.firstRefused() {
            throw TransportError(.invalidRequest, at: url.host, refused.reason)
        }
        guard method != .get || body.isEmpty else {
            throw TransportError(.invalidRequest, at: url.host, "a GET has no body")
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

    /// The same from a URL's text; throws what `HTTPURL` throws as well.
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
