import Telemetry

/// What came of one exchange with Apple, in few words.
package enum UpstreamOutcome: Int, MetricLabel {
    /// A usable answer, whatever it says.
    case answered
    /// 404 of the App Store Server API, with an error of its own: nothing is known of what was asked about.
    case notFound
    /// 401.
    case unauthorized
    /// 429.
    case rateLimited
    /// Any other status below 500.
    case refused
    /// 500 and above.
    case serverError
    case timedOut
    /// No address, no connection, no TLS.
    case notConnected
    /// The connection broke before the answer was whole.
    case brokenOff
    /// An answer that is none: no JSON, no status, not signed by Apple.
    case notUnderstood
    /// The client went away.
    case cancelled
    /// Not even tried: too many wait, or nothing may be sent now.
    case notSent
    case failed

    /// Codes of ``TransportError``, ``UpstreamFailure`` and ``ServerAPIError`` that come without a status.
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

    init(_ reply: VerifyReceiptReply) {
        switch reply {
        case .answer: self = .answered
        case .outage(let failure): self.init(code: failure.code.rawValue, httpStatus: failure.httpStatus)
        }
    }

    init(_ error: ServerAPIError) {
        if error.httpStatus == 404, error.errorNumber != nil {
            self = .notFound
        } else {
            self.init(code: error.code.rawValue, httpStatus: error.httpStatus)
        }
    }
}
