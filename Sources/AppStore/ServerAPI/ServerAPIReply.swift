import JSONReading
import Transport

/// What a response of the App Store Server API means.
///
///     { "errorCode": 4040010, "errorMessage": "Transaction id not found." }
enum ServerAPIReply {
    /// The answer, or nil where the call has none.
    static func read(
        _ response: HTTPResponse, for call: ServerAPICall, from host: String
    ) throws(ServerAPIError) -> JSONObject? {
        guard response.status == call.success else { throw failure(response, from: host) }
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
    private static func failure(_ response: HTTPResponse, from host: String) -> ServerAPIError {
        let body = try? JSONObject(response.body)
        let number = (try? body?.integer("errorCode")).flatMap { $0 }.map(ServerAPIErrorNumber.init)
        let retryAfter = response.headers["Retry-After"].flatMap(RetryAfter.init)
        let status = "HTTP status \(response.status)"
        if response.status == 401 {
            return ServerAPIError(
                .unauthorized, at: host, "\(status): a wrong key, clock or identifier, or an app not yet released",
                errorNumber: number, httpStatus: response.status)
        }
        guard let number else {
            return ServerAPIError(.httpStatus, at: host, status, httpStatus: response.status, retryAfter: retryAfter)
        }
        return ServerAPIError(
            .refused, at: host, "\(status), error \(number)", errorNumber: number, httpStatus: response.status,
            retryAfter: retryAfter)
    }
}
