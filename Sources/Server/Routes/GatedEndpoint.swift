import ReceiptBridgeBase
import HTTPTypes
import Hummingbird
import NIOCore
import ReceiptBridgeCore

/// What all routes that need a bearer token or a local request have in common: authorization, the rate limit, the body
/// within its limits, cancellation if the client disconnects, and JSON or a problem as the response.
struct GatedEndpoint: Sendable {
    let live: ReloadableState
    let authorization: BearerTokenMiddleware
    let disconnectMonitor: ClientDisconnectMonitor
    /// `nil` on the operations listener, whose clients are not rate-limited.
    let clients: ClientRateLimiter?
    let bodies: RequestBodyBudget

    /// Responds to a request without a body.
    func respond(
        to request: Request, _ context: ProxyRequestContext,
        _ json: @escaping @Sendable () async throws(OperationError) -> [UInt8]
    ) async -> Response {
        if let refusal = authorization.refusal(of: request, context) { return refusal }
        if let tooMany = tooMany(request, context) { return tooMany }
        return await perform(context, json)
    }

    /// Reads the body of a request, at most `maximum` bytes, and responds to it.
    func respond(
        to request: Request, _ context: ProxyRequestContext, bodyUpTo maximum: Int,
        _ json: @escaping @Sendable (_ body: [UInt8]) async throws(OperationError) -> [UInt8]
    ) async throws -> Response {
        if let refusal = authorization.refusal(of: request, context) { return refusal }
        let reservation = bodies.reservation(on: context.channel)
        defer { reservation.release() }
        let body: [UInt8]
        switch try await request.body(upTo: maximum, counting: reservation) {
        case .success(let bytes): body = bytes
        case .failure(let refusal): return refusal.response
        }
        if let tooMany = tooMany(request, context) { return tooMany }
        return await perform(context) { () async throws(OperationError) in try await json(body) }
    }

    /// Returns 429 if the client has exceeded its rate limit; otherwise `nil`.
    func tooMany(_ request: Request, _ context: ProxyRequestContext) -> Response? {
        guard let seconds = clients?.wait(request, on: context.channel, by: live.now) else { return nil }
        var response = ProblemDetails.tooManyRequests.response
        response.headers[.retryAfter] = seconds
        return response
    }

    private func perform(
        _ context: ProxyRequestContext, _ json: @escaping @Sendable () async throws(OperationError) -> [UInt8]
    ) async -> Response {
        let outcome = await disconnectMonitor.serving(context.channel) { await Result(catching: json) }
        var response: Response
        switch outcome {
        case .success(let json):
            response = Response(json)
        case .failure(let error):
            response =
                ProblemDetails(
                    status: error.code.httpStatus, code: error.code.rawValue, detail: error.reason
                ).response
            if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        }
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
