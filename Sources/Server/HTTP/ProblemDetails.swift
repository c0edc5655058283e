import ReceiptBridgeBase
import HTTPTypes
import Hummingbird
import NIOCore

/// An HTTP error that is not a status of a receipt, in the format of RFC 9457. `code` is stable, so clients may
/// depend on it. Example:
///
///     {"code":"notFound","detail":"…","status":404,"title":"Not Found","type":"about:blank"}
struct ProblemDetails: Sendable {
    static let contentType = "application/problem+json"

    let type = "about:blank"
    let title: String
    let status: Int
    let code: String
    let detail: String

    private static let titles: [Int: String] = Dictionary(
        uniqueKeysWithValues: [
            HTTPResponse.Status.badRequest, .unauthorized, .forbidden, .notFound, .conflict, .contentTooLarge,
            .unsupportedMediaType, .unprocessableContent, .tooManyRequests, .internalServerError, .notImplemented,
            .badGateway,
            .serviceUnavailable, .gatewayTimeout,
        ].map { ($0.code, $0.reasonPhrase) })

    /// The title is the reason phrase of the status (RFC 9457, section 4.2.1).
    init(status: Int, code: String, detail: String) {
        (title, self.status) = (Self.titles[status] ?? "Error", status)
        (self.code, self.detail) = (code, detail)
    }

    static let bodyTooLarge = bodyTooLarge(maximum: VerifyReceiptController.maximumBodyBytes)

    static func bodyTooLarge(maximum: Int) -> ProblemDetails {
        ProblemDetails(status: 413, code: "bodyTooLarge", detail: "the request body is longer than \(maximum) bytes")
    }

    static let encodedBody = ProblemDetails(
        status: 415, code: "encodedBody", detail: "request bodies with a Content-Encoding are not supported")
    static let tooManyRequests = ProblemDetails(
        status: 429, code: "tooManyRequests", detail: "rate limit exceeded; retry after the time in Retry-After")
    static let noRoom = ProblemDetails(
        status: 503, code: "noRoom",
        detail: "the memory for request bodies is in use; retry after the time in Retry-After")
    static let wrongToken = ProblemDetails(
        status: 401, code: "wrongToken", detail: "the bearer token is not one of the configured tokens")
    /// The error for unknown paths, and for gated routes without authorization.
    static let notFound = ProblemDetails(status: 404, code: "notFound", detail: "there is no such resource")

    var json: [UInt8] {
        JSONWriter.object {
            $0.member("code", code)
            $0.member("detail", detail)
            $0.member("status", Int64(status))
            $0.member("title", title)
            $0.member("type", type)
        }
    }

    var response: Response {
        Response(
            status: HTTPResponse.Status(code: status, reasonPhrase: title),
            headers: [.contentType: Self.contentType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: json)))
    }

    /// The response with `Connection: close`, because part of the request may still arrive.
    var closingResponse: Response {
        var response = response
        response.headers[.connection] = "close"
        return response
    }
}

/// Turns errors of the router and of request parsing into problem responses. Other errors are rethrown.
struct ProblemMiddleware: RouterMiddleware {
    typealias Context = ProxyRequestContext

    func handle(
        _ request: Request, context: ProxyRequestContext,
        next: (Request, ProxyRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError {
            let status = error.status.code
            let problem =
                error.status == .notFound
                ? ProblemDetails.notFound
                : ProblemDetails(status: status, code: "http\(status)", detail: error.status.reasonPhrase.lowercased())
            return request.method == .head ? problem.response.createHeadResponse() : problem.response
        }
    }
}
