import Foundation
import JSONReading
import StoreTypes
import Transport

/// What a response of the App Store Server API means.
///
///     { "errorCode": 4040010, "errorMessage": "Transaction id not found." }
enum ServerAPIReply {
    /// The answer, or nil where the call has none.
    ///
    /// - Parameter now: this machine's time, to be compared with the answer's `Date` where a token was refused.
    static func read(
        _ response: HTTPResponse, for call: ServerAPICall, from host: String, now: Timestamp
    ) throws(ServerAPIError) -> JSONObject? {
        guard response.status == call.success else { throw failure(response, from: host, now: now) }
        guard call.hasAnswer else { return nil }
        guard !response.body.isEmpty else {
            throw ServerAPIError(.emptyBody, at: host, "an answer with nothing in it", httpStatus: response.status)
        }
        do throws(JSONStructureError) {
            return try JSONObject(response.body)
        } catch {
            throw ServerAPIError(.notJSON, at: host, error.description, httpStatus: response.status)
        }
    }

    /// 401 comes without JSON; the number counts whatever the status is.
    private static func failure(_ response: HTTPResponse, from host: String, now: Timestamp) -> ServerAPIError {
        let body = try? JSONObject(response.body)
        let number = (try? body?.integer("errorCode")).flatMap { $0 }.map(ServerAPIErrorNumber.init)
        let retryAfter = response.headers["Retry-After"].flatMap(RetryAfter.init)
        let status = "HTTP status \(response.status)"
        if response.status == 401 {
            return ServerAPIError(
                .unauthorized, at: host,
                clockTrouble(response, now: now).map { "\(status): \($0)" }
                    ?? "\(status): a wrong key or identifier, or an app not yet released",
                errorNumber: number, httpStatus: response.status)
        }
        guard let number else {
            return ServerAPIError(.httpStatus, at: host, status, httpStatus: response.status, retryAfter: retryAfter)
        }
        return ServerAPIError(
            .refused, at: host, "\(status), error \(number)", errorNumber: number, httpStatus: response.status,
            retryAfter: retryAfter)
    }

    /// A token from a clock that is wrong is refused without a reason: the answer's `Date` tells.
    private static func clockTrouble(_ response: HTTPResponse, now: Timestamp) -> String? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = .gmt
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        guard let date = response.headers["Date"].flatMap(format.date) else { return nil }
        let difference = now.seconds - Int64(date.timeIntervalSince1970.rounded())
        guard abs(difference) > 30 else { return nil }
        return "this machine's clock is \(abs(difference)) s \(difference > 0 ? "ahead of" : "behind") the App Store's"
    }
}
