package import StoreTypes
package import Transport

/// What asking verifyReceipt once came to.
package enum VerifyReceiptReply: Sendable {
    /// Apple gave a verdict.
    case answer(UpstreamResponse)
    /// Apple gave none, which says nothing about the receipt.
    case outage(UpstreamFailure)
}

/// A verdict of Apple's: JSON with a status.
package struct UpstreamResponse: Sendable, Hashable {
    /// The body exactly as it was received.
    package let body: [UInt8]
    /// Its `status`.
    package let status: VerifyReceiptStatus
    /// Its `is_retryable`; nil when absent or unreadable.
    package let isRetryable: Bool?

    /// An answer.
    package init(body: [UInt8], status: VerifyReceiptStatus, isRetryable: Bool?) {
        self.body = body
        self.status = status
        self.isRetryable = isRetryable
    }
}

/// Why an upstream service gave no usable answer: match on `code`, print the rest.
package struct UpstreamFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong.
    package let code: Code
    /// The host that was asked.
    package let place: String
    /// A sentence for people, with nothing of the request or the response in it.
    package let reason: String
    /// The status, when there was a response.
    package let httpStatus: Int?
    /// How long the service asks to wait; at most ``longestPause``.
    package let retryAfter: Duration?

    /// Longer pauses than this are as good as none for a client that waits.
    package static let longestPause = Duration.seconds(3_600)

    /// A failure of the given kind at the given host.
    package init(
        _ code: Code, at place: String, _ reason: String, httpStatus: Int? = nil, retryAfter: Duration? = nil
    ) {
        self.code = code
        self.place = place
        self.reason = reason
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
    }

    /// `notJSON: buy.itunes.apple.com: an HTML page`.
    package var description: String { "\(code.rawValue): \(place): \(reason)" }
}

extension UpstreamFailure {
    /// The kinds of failure: those of `TransportError.Code` by the same names, and these.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name, as logs and metrics show it.
        package let rawValue: String

        /// A code by its name.
        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A status other than 200; redirects too.
        package static let httpStatus = Self(rawValue: "httpStatus")
        /// 200 with nothing in it.
        package static let emptyBody = Self(rawValue: "emptyBody")
        /// 200 with HTML, truncated JSON or anything else that is not one JSON object.
        package static let notJSON = Self(rawValue: "notJSON")
        /// A JSON object without a number as `status`.
        package static let noStatus = Self(rawValue: "noStatus")
        /// There is nobody to ask about that environment.
        package static let noEndpoint = Self(rawValue: "noEndpoint")
    }

    /// The failure of an exchange.
    package init(_ error: TransportError) {
        self.init(Code(rawValue: error.code.rawValue), at: error.place, error.reason)
    }

    /// Whether nothing was sent, to spare the service: asking again at once is no use.
    package var isRefusal: Bool { TransportError.Code(rawValue: code.rawValue).isRefusal }

    /// True when the same request may succeed soon.
    package var isTemporary: Bool {
        switch code {
        case .emptyBody, .notJSON, .noStatus: true
        case .httpStatus: httpStatus.map { $0 >= 500 || $0 == 429 || $0 == 408 } ?? false
        case .noEndpoint: false
        default: TransportError.Code(rawValue: code.rawValue).isTemporary
        }
    }
}
