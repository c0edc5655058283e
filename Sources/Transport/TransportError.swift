/// The reason why an HTTP exchange gave no response. Programs match on `code`; the rest is for people.
package struct TransportError: Error, Sendable, Hashable, CustomStringConvertible {
    package let code: Code
    /// The host of the request. Never more of the URL, because paths and queries can hold data that must not be
    /// logged.
    package let place: String
    /// A sentence for people. Contains nothing that was sent.
    package let reason: String
    /// The time that the host had for its response, including connecting; `nil` if the request was not sent or only
    /// part of its body was. A timeout then says nothing about the host: a queue, or a long body on a slow line, may be
    /// the cause.
    package var timeAtHost: Duration?

    package init(_ code: Code, at place: String, _ reason: String) {
        (self.code, self.place, self.reason) = (code, place, reason)
    }

    /// The error on one line. Example: `connectFailed: example.com: the proxy rejected the request with status 407`.
    package var description: String { "\(code.rawValue): \(place): \(reason)" }
}

extension TransportError {
    /// The kind of a failure. The raw value is the name used in logs and metrics.
    package enum Code: String, Sendable, Hashable {
        /// The text is not an absolute URL of the restricted form that `HTTPURL` accepts.
        case invalidURL
        /// A header has a line break or is reserved for the transport, or a GET has a body.
        case invalidRequest
        /// Plain http to a host that is not loopback.
        case refusedPlainHTTP
        /// A setting of the transport cannot work, for example a proxy with an unknown scheme.
        case invalidConfiguration
        /// The host name or the proxy name cannot be resolved.
        case nameNotResolved
        /// The connection was refused, or the proxy rejected the request.
        case connectFailed
        /// The TLS handshake failed or the certificate is not trusted.
        case tlsFailed
        /// No complete response before the deadline.
        case timedOut
        /// The connection broke while sending or receiving.
        case connectionReset
        /// The connection was closed before the first byte of a response.
        case emptyReply
        /// The connection was closed in the middle of a response.
        case truncated
        /// The response body or headers exceeded the size limit.
        case responseTooLarge
        /// The memory for responses is used up; the response was not read to its end.
        case noMemory
        /// The server violated the HTTP protocol.
        case protocolError
        case cancelled
        /// No connection was free before the deadline, or none is expected to be; the request was not sent.
        case noConnection
        /// The circuit breaker of the host is open after repeated failures; the request was not sent.
        case circuitOpen
        /// The retry budget of the host is used up; the request was not sent.
        case tooManyRepetitions
        case shutDown
        /// libcurl failed for a reason that says nothing about the server.
        case internalFault

        private static let temporary: Set<Self> = [
            .nameNotResolved, .connectFailed, .tlsFailed, .timedOut, .connectionReset, .emptyReply, .truncated,
            .protocolError, .noMemory, .noConnection, .circuitOpen, .tooManyRepetitions, .internalFault,
        ]

        private static let refusals: Set<Self> = [.noMemory, .noConnection, .circuitOpen, .tooManyRepetitions]

        /// True if the request was not sent, or its response not read, to protect the host and this process. An
        /// immediate retry would be rejected too.
        package var isRefusal: Bool { Self.refusals.contains(self) }

        /// True if the same request may succeed later. False if the request itself is wrong, or if this process ended
        /// the exchange on purpose.
        package var isTemporary: Bool { Self.temporary.contains(self) }
    }
}
