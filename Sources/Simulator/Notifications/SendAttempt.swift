package import StoreTypes

/// An attempt to send a notification, with its result.
///
/// https://developer.apple.com/documentation/appstoreserverapi/sendattemptitem
package struct SendAttempt: Sendable, Hashable {
    /// Apple's values of `sendAttemptResult`, as far as they can occur without TLS.
    package enum Result: String, Sendable, Hashable {
        case success = "SUCCESS"
        case timedOut = "TIMED_OUT"
        /// The connection failed, for example because no server listens at the address.
        case socketIssue = "SOCKET_ISSUE"
        /// The connection was closed before the response was complete.
        case prematureClose = "PREMATURE_CLOSE"
        /// The response was not HTTP.
        case invalidResponse = "INVALID_RESPONSE"
        case unsuccessfulStatus = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    }

    package let date: Timestamp
    package let result: Result

    /// An element of `sendAttempts`.
    var document: JSONValue {
        .object(["attemptDate": .number(date.milliseconds), "sendAttemptResult": .string(result.rawValue)])
    }
}
