package import StoreTypes

/// One time that a notification was sent, and what came of it.
///
/// https://developer.apple.com/documentation/appstoreserverapi/sendattemptitem
package struct SendAttempt: Sendable, Hashable {
    /// Apple's words, as far as a plain connection can meet them.
    package enum Result: String, Sendable, Hashable {
        case success = "SUCCESS"
        case timedOut = "TIMED_OUT"
        /// Nobody listens.
        case socketIssue = "SOCKET_ISSUE"
        /// The connection ended before the answer did.
        case prematureClose = "PREMATURE_CLOSE"
        /// What came was no HTTP.
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
