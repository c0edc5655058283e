package import Base
package import Transport

/// The result of one verifyReceipt request.
package enum VerifyReceiptReply: Sendable {
    /// Apple returned a status.
    case answer(UpstreamResponse)
    /// Apple returned no usable response. This says nothing about the receipt.
    case outage(UpstreamFailure)
}

/// A verifyReceipt response from Apple: JSON with a status, and with a receipt if the status is 0 or 21006.
package struct UpstreamResponse: Sendable, Hashable {
    /// The body exactly as received.
    package let body: [UInt8]
    /// The value of `status`.
    package let status: VerifyReceiptStatus
    /// The value of `is_retryable`; `nil` if it is absent or unreadable.
    package let isRetryable: Bool?

    /// Creates a response.
    package init(body: [UInt8], status: VerifyReceiptStatus, isRetryable: Bool?) {
        self.body = body
        self.status = status
        self.isRetryable = isRetryable
    }
}

/// The reason why an upstream service returned no usable response. Programs match on `code`; the rest is for people.
package struct UpstreamFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    package let code: Code
    /// The host of the request.
    package let place: String
    /// A sentence for people. Contains nothing of the request or the response.
    package let reason: String
    /// The HTTP status, if there was a response.
    package let httpStatus: Int?
    /// The delay from the `Retry-After` header, at most ``longestPause``.
    package let retryAfter: Duration?

    /// The maximum value of ``retryAfter``. To a waiting client, a longer delay is the same as none.
    package static let longestPause = Duration.seconds(3_600)

    /// Creates a failure of the given kind for the given host.
    package init(
        _ code: Code, at place: String, _ reason: String, httpStatus: Int? = nil, retryAfter: Duration? = nil
    ) {
        self.code = code
        self.place = place
        self.reason = reason
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
    }

    /// The failure on one line. Example: `noStatus: buy.itunes.apple.com: JSON without a number as status`.
    package var description: String { "\(code.rawValue): \(place): \(reason)" }
}

extension UpstreamFailure {
    /// The kind of a failure: the codes of `TransportError.Code` under the same names, and those listed here.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name used in logs and metrics.
        package let rawValue: String

        /// Creates a code from its name.
        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// An HTTP status other than 200, including redirects.
        package static let httpStatus = Self(rawValue: "httpStatus")
        /// A 200 response with an empty body.
        package static let emptyBody = Self(rawValue: "emptyBody")
        /// A 200 response with HTML, truncated JSON or anything else that is not a single JSON object.
        package static let notJSON = Self(rawValue: "notJSON")
        /// A JSON object without a number as `status`.
        package static let noStatus = Self(rawValue: "noStatus")
        /// Status 0 or 21006 without the object `receipt`.
        package static let noReceipt = Self(rawValue: "noReceipt")
        /// No endpoint exists for that environment.
        package static let noEndpoint = Self(rawValue: "noEndpoint")
    }

    /// Creates the failure that corresponds to a transport error.
    package init(_ error: TransportError) {
        self.init(Code(rawValue: error.code.rawValue), at: error.place, error.reason)
    }

    /// True if the request was not sent, to protect the service. An immediate retry would be rejected too.
    package var isRefusal: Bool { TransportError.Code(rawValue: code.rawValue).isRefusal }

    /// True if the same request may succeed soon.
    package var isTemporary: Bool {
        switch code {
        case .emptyBody, .notJSON, .noStatus, .noReceipt: true
        case .httpStatus: httpStatus.map { $0 >= 500 || $0 == 429 || $0 == 408 } ?? false
        case .noEndpoint: false
        default: TransportError.Code(rawValue: code.rawValue).isTemporary
        }
    }
}

extension VerifyReceiptStatus {
    /// The statuses that are temporary. All others are final even if `is_retryable` is true, as was observed with
    /// 21010.
    private static let passing: [ClosedRange<Int>] = [21005...21005, 21009...21009, 21100...21199]

    /// Returns whether a retry makes sense, given the response's `is_retryable`. An explicit `false` always means no.
    package func isTransient(isRetryable: Bool?) -> Bool {
        isRetryable != false && Self.passing.contains { $0.contains(rawValue) }
    }
}

extension UpstreamResponse {
    /// True if a retry makes sense.
    package var isTransient: Bool { status.isTransient(isRetryable: isRetryable) }
}
