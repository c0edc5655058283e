import ReceiptBridgeBase
import HTTPTypes
import Hummingbird
import NIOCore
import ReceiptBridgeCore
import ReceiptBridgeCryptography

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

/// Authorizes access to routes that expose customers' purchases or internal state: `/v1/*`, `/metrics`, `/`,
/// `/comparisons`, `/customers`.
///
/// | listener | with a configured token | without a token |
/// |---|---|---|
/// | public | allowed | refused |
/// | operations | allowed | allowed only for a ``LocalRequest`` |
///
/// A refused request gets 404, as if the route did not exist. An unknown bearer token gets 401 on `/v1/*`.
struct BearerTokenMiddleware: Sendable {
    enum Listener: Sendable {
        case `public`, operations
    }

    let live: ReloadableState
    let listener: Listener

    func allows(_ request: Request, _ context: ProxyRequestContext) -> Bool {
        let settings = live.now.settings
        if let token = Self.bearerToken(of: request), Self.isKnown(token, among: settings.tokens) { return true }
        return listener == .operations
            && LocalRequest.isLocal(
                request, from: context.channel.remoteAddress, listeningAt: settings.operationsListen.host)
    }

    /// Returns the error response if the request may not use `/v1/*`; `nil` if it may.
    func refusal(of request: Request, _ context: ProxyRequestContext) -> Response? {
        let tokens = live.now.settings.tokens
        if !tokens.isEmpty, let token = Self.bearerToken(of: request), !Self.isKnown(token, among: tokens) {
            var response = ProblemDetails.wrongToken.response
            response.headers[.wwwAuthenticate] = "Bearer"
            return response
        }
        return allows(request, context) ? nil : ProblemDetails.notFound.response
    }

    /// Compares with every token, because the response time would reveal the position of the first match.
    private static func isKnown(_ token: String, among tokens: [Redacted<String>]) -> Bool {
        tokens.reduce(false) { found, candidate in ConstantTime.equal(candidate.reveal(), token) || found }
    }

    /// The `Authorization` header of RFC 6750, section 2.1; `nil` if there is none or several are sent.
    private static func bearerToken(of request: Request) -> String? {
        let values = request.headers[values: .authorization]
        guard values.count == 1, let value = values.first, value.prefix(7).lowercased() == "bearer " else { return nil }
        let token = value.dropFirst(7).drop { $0 == " " }
        return token.isEmpty ? nil : String(token)
    }
}
