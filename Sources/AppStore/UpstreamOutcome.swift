import Telemetry

/// The outcome of one exchange with Apple, as a metric label.
package enum UpstreamOutcome: Int, MetricLabel {
    /// A usable response, whatever its content.
    case answered
    /// 404 from the App Store Server API with an error number: the identifier is unknown to it.
    case notFound
    /// HTTP status 401.
    case unauthorized
    /// HTTP status 429.
    case rateLimited
    /// Any other HTTP status below 500.
    case refused
    /// HTTP status 500 or above.
    case serverError
    case timedOut
    /// Name resolution, connecting or the TLS handshake failed.
    case notConnected
    /// The connection broke before the response was complete.
    case brokenOff
    /// The response is unusable: not JSON, without a status, or not signed by Apple.
    case notUnderstood
    /// The client disconnected, so the exchange was canceled.
    case cancelled
    /// The request was not sent: the queue is full, the circuit breaker is open, the retry budget is used up, or the
    /// transport is shut down.
    case notSent
    case failed

    /// Outcomes by the codes of ``TransportError``, ``UpstreamFailure`` and ``ServerAPIError``, for errors without an
    /// HTTP status.
    private static let codes: [String: Self] = [
        "timedOut": .timedOut, "deadline": .timedOut, "nameNotResolved": .notConnected, "connectFailed": .notConnected,
        "tlsFailed": .notConnected, "connectionReset": .brokenOff, "emptyReply": .brokenOff, "truncated": .brokenOff,
        "responseTooLarge": .notUnderstood, "protocolError": .notUnderstood, "emptyBody": .notUnderstood,
        "notJSON": .notUnderstood, "noStatus": .notUnderstood, "malformedAnswer": .notUnderstood,
        "notAuthentic": .notUnderstood, "cancelled": .cancelled, "queueFull": .notSent, "shutDown": .notSent,
        "circuitOpen": .notSent, "tooManyRepetitions": .notSent,
    ]

    private init(code: String, httpStatus: Int?) {
        switch httpStatus {
        case 401: self = .unauthorized
        case 429: self = .rateLimited
        case let status? where status >= 500: self = .serverError
        case let status? where status >= 300: self = .refused
        default: self = Self.codes[code] ?? .failed
        }
    }

    /// The outcome of a verifyReceipt exchange.
    init(_ reply: VerifyReceiptReply) {
        switch reply {
        case .answer: self = .answered
        case .outage(let failure): self.init(code: failure.code.rawValue, httpStatus: failure.httpStatus)
        }
    }

    /// The outcome of a Server API exchange that failed.
    init(_ error: ServerAPIError) {
        if error.httpStatus == 404, error.errorNumber != nil {
            self = .notFound
        } else {
            self.init(code: error.code.rawValue, httpStatus: error.httpStatus)
        }
    }
}
