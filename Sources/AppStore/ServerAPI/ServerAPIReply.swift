import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeTransport

/// Interprets responses of the App Store Server API.
///
///     { "errorCode": 4040010, "errorMessage": "Transaction id not found." }
enum ServerAPIReply {
    /// Returns the JSON object of a response, or `nil` if the call has no response body. If a token was rejected, the
    /// local time is compared with the response's `Date` header.
    static func read(
        _ response: HTTPResponse, for call: ServerAPICall, from host: String, now: Timestamp
    ) throws(UpstreamError) -> JSONObject? {
        guard response.status == call.success else { throw failure(response, from: host, now: now) }
        guard call.hasResponseBody else { return nil }
        guard !response.body.isEmpty else {
            throw UpstreamError(.emptyBody, at: host, "the response has no body", httpStatus: response.status)
        }
        do throws(JSONStructureError) {
            return try JSONObject(response.body)
        } catch {
            throw UpstreamError(.notJSON, at: host, error.description, httpStatus: response.status)
        }
    }

    /// A 401 has no JSON body. If there is an error number, it counts whatever the HTTP status is.
    private static func failure(_ response: HTTPResponse, from host: String, now: Timestamp) -> UpstreamError {
        let body = try? JSONObject(response.body)
        let errorNumber = (try? body?.number("errorCode")).flatMap { $0 }.map(ServerAPIErrorNumber.init)
        let retryAfter = response.retryAfter(now: now)
        let status = "HTTP status \(response.status)"
        if response.status == 401 {
            return UpstreamError(
                .unauthorized, at: host,
                clockDifference(response, now: now).map { "\(status): \($0)" }
                    ?? "\(status): wrong key or identifier, or the app has not been released yet",
                errorNumber: errorNumber, httpStatus: response.status)
        }
        guard let errorNumber else {
            return UpstreamError(.httpStatus, at: host, status, httpStatus: response.status, retryAfter: retryAfter)
        }
        return UpstreamError(
            .refused, at: host, "\(status), error \(errorNumber)", errorNumber: errorNumber,
            httpStatus: response.status, retryAfter: retryAfter)
    }

    /// Describes a wrong local clock. Apple rejects a token from such a clock without a reason, but the `Date` header
    /// of the response shows the difference.
    private static func clockDifference(_ response: HTTPResponse, now: Timestamp) -> String? {
        guard let seconds = response.dateSeconds else { return nil }
        let difference = now.seconds - seconds
        guard abs(difference) > 30 else { return nil }
        return
            "the clock of this machine is \(abs(difference)) s \(difference > 0 ? "ahead of" : "behind") the App Store's"
    }
}
