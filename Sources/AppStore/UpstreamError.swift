import ReceiptBridgeBase
import Foundation
package import ReceiptBridgeTransport

/// The reason why the App Store, by verifyReceipt or by the App Store Server API, returned no usable response. Says
/// nothing about the receipt or the transaction, unless `errorNumber` does. Programs match on `code`; the rest is for
/// people.
package struct UpstreamError: Error, Sendable, Hashable, CustomStringConvertible {
    package let code: Code
    /// The host of the request, or the local part that is wrong, for example the path of the private key.
    package let place: String
    /// A sentence for people. Contains nothing of the request or the response.
    package let reason: String
    /// The `errorCode` of the Server API, if there was one.
    package let errorNumber: ServerAPIErrorNumber?
    package let httpStatus: Int?
    /// The time until a retry makes sense, set by Apple or by the hourly budget: at most ``longestPause``.
    package let retryAfter: Duration?

    /// The maximum value of ``retryAfter``. To a waiting client, a longer delay is the same as none.
    package static let longestPause = Duration.hours(1)

    package init(
        _ code: Code, at place: String, _ reason: String, errorNumber: ServerAPIErrorNumber? = nil,
        httpStatus: Int? = nil, retryAfter: Duration? = nil
    ) {
        (self.code, self.place, self.reason) = (code, place, reason)
        (self.errorNumber, self.httpStatus) = (errorNumber, httpStatus)
        self.retryAfter = retryAfter.map { min($0, Self.longestPause) }
    }

    /// Creates the error that corresponds to a transport error.
    init(_ error: TransportError) { self.init(Code(rawValue: error.code.rawValue), at: error.place, error.reason) }

    /// The error on one line. Example: `refused: api.storekit.apple.com: HTTP status 404, error 4040010`.
    package var description: String { "\(code.rawValue): \(place): \(reason)" }
}

extension UpstreamError {
    /// The kind of a failure: the codes of `TransportError.Code` under the same names, and those listed here.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name used in logs and metrics.
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The code of the transport; `nil` if the code is listed here only.
        fileprivate var transport: TransportError.Code? { TransportError.Code(rawValue: rawValue) }
    }
}

/// Responses that cannot be used.
extension UpstreamError.Code {
    /// An unexpected HTTP status, including redirects, without an error number.
    package static let httpStatus = Self(rawValue: "httpStatus")
    /// A successful response has no body although one is required.
    package static let emptyBody = Self(rawValue: "emptyBody")
    /// A successful response has HTML, truncated JSON or anything else that is not a single JSON object.
    package static let notJSON = Self(rawValue: "notJSON")
    /// A verifyReceipt response without a number as `status`.
    package static let noStatus = Self(rawValue: "noStatus")
    /// A verifyReceipt response with status 0 or 21006 without the object `receipt`.
    package static let noReceipt = Self(rawValue: "noReceipt")
    package static let malformedAnswer = Self(rawValue: "malformedAnswer")
    /// A JWS in the response is not authentic.
    package static let notAuthentic = Self(rawValue: "notAuthentic")
    /// This version cannot tell whether a JWS in the response is authentic.
    package static let notVerifiable = Self(rawValue: "notVerifiable")
    /// A claim that decides has an unexpected type, in an authentic JWS.
    package static let unexpectedType = Self(rawValue: "unexpectedType")
    package static let wrongBundleId = Self(rawValue: "wrongBundleId")
    package static let wrongEnvironment = Self(rawValue: "wrongEnvironment")
    /// The history is empty although the requested transaction exists. Apple returns this for a token with a wrong
    /// bundle identifier, so it must not be trusted.
    package static let emptyHistory = Self(rawValue: "emptyHistory")
    /// The history has a subscription but the customer has no statuses, so the response is incomplete.
    package static let statusesMissing = Self(rawValue: "statusesMissing")
    package static let endlessPages = Self(rawValue: "endlessPages")
}

/// Requests that Apple refused or that were not sent.
extension UpstreamError.Code {
    /// Apple rejected the request with an error number: `errorNumber`.
    package static let refused = Self(rawValue: "refused")
    /// HTTP status 401: a wrong key, clock or identifier. In production also an app that was never released.
    package static let unauthorized = Self(rawValue: "unauthorized")
    /// The transactions are unknown in both environments.
    package static let notFound = Self(rawValue: "notFound")
    /// No endpoint exists for that environment.
    package static let noEndpoint = Self(rawValue: "noEndpoint")
    /// There is no identifier to look up.
    package static let noKeys = Self(rawValue: "noKeys")
    package static let invalidIdentifier = Self(rawValue: "invalidIdentifier")
    /// The private key cannot be read or used.
    package static let privateKey = Self(rawValue: "privateKey")
    /// Apple has asked for a pause, and the request was not sent.
    package static let rateLimited = Self(rawValue: "rateLimited")
    /// The hourly budget is used up: see `retryAfter`.
    package static let budgetSpent = Self(rawValue: "budgetSpent")
    /// The operation has used its maximum number of calls.
    package static let tooManyCalls = Self(rawValue: "tooManyCalls")
    package static let deadline = Self(rawValue: "deadline")
    /// The operation takes longer than its caller waits. The App Store answers, and a later call finds the result.
    package static let inProgress = Self(rawValue: "inProgress")
    package static let cancelled = Self(rawValue: TransportError.Code.cancelled.rawValue)
}

extension UpstreamError {
    /// True if the same request may succeed soon.
    package var isTemporary: Bool {
        switch code {
        case .refused: errorNumber?.isTemporary ?? false
        case .emptyBody, .notJSON, .noStatus, .noReceipt, .statusesMissing, .budgetSpent, .rateLimited, .deadline,
            .inProgress:
            true
        case .httpStatus: httpStatus.map { $0 >= 500 || $0 == 429 || $0 == 408 } ?? false
        default: code.transport?.isTemporary ?? false
        }
    }

    var isForeign: Bool { code == .wrongBundleId || code == .wrongEnvironment }

    /// True if the request was not sent, to protect the App Store. An immediate retry would be rejected too.
    package var isRefusal: Bool { code == .rateLimited || code.transport?.isRefusal ?? false }

    /// True if no connection to the host could be made. Other requests to it would fail as well.
    package var isUnreachable: Bool { [.connectFailed, .nameNotResolved, .tlsFailed].contains(code.transport) }

    /// True if Apple reported that the transaction is unknown in this environment.
    package var isUnknownTransaction: Bool { code == .notFound || errorNumber?.isUnknownTransaction ?? false }
}

extension HTTPResponse {
    /// The time of the `Date` header, for example `Sun, 06 Nov 1994 08:49:37 GMT`, in seconds since 1970; `nil` if it
    /// cannot be read. Not a `Timestamp`, because a header can name a year whose milliseconds exceed it.
    package var dateSeconds: Int64? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = .gmt
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return headers["Date"].flatMap(format.date).map { Int64($0.timeIntervalSince1970.rounded()) }
    }

    /// The `Retry-After` header as a duration from now on, at most ``UpstreamError/longestPause``; `nil` without one.
    func retryAfter(now: Timestamp) -> Duration? {
        headers["Retry-After"].flatMap(RetryAfter.init)?
            .delay(nowMilliseconds: now.milliseconds, maximum: UpstreamError.longestPause)
    }
}
