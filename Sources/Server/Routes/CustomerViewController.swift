import BridgeConfiguration
import HTTPTypes
import Hummingbird
import NIOCore
import VerifyReceipt

/// Serves `/v1/receipts` and `/v1/transactions/{id}`, the endpoints of new clients: a view of a customer in
/// camelCase.
struct CustomerViewController: Sendable {
    let live: ReloadableState
    let authorization: BearerTokenMiddleware
    let disconnectMonitor: ClientDisconnectMonitor
    /// `nil` on the operations listener, whose clients are not rate-limited.
    let clients: ClientRateLimiter?
    let bodies: RequestBodyBudget

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.post("/v1/receipts") { request, context in
            if let refusal = authorization.refusal(of: request, from: context.channel.remoteAddress) { return refusal }
            let reservation = bodies.reservation(on: context.channel)
            defer { reservation.release() }
            let result = try await request.body(counting: reservation)
            guard !request.hasEncodedBody else { return ProblemDetails.encodedBody.closingResponse }
            let body: [UInt8]
            switch result {
            case .whole(let bytes): body = bytes
            case .tooLong: return ProblemDetails.bodyTooLarge.closingResponse
            case .noRoom: return RequestBodyBudget.refusal
            }
            if let tooMany = tooMany(request, context) { return tooMany }
            let pipeline = live.now.pipelines.customerView
            return await answer(context) { () async throws(CustomerViewError) in try await pipeline.view(body: body) }
        }
        router.get("/v1/transactions/{id}") { request, context in
            if let refusal = authorization.refusal(of: request, from: context.channel.remoteAddress) { return refusal }
            let id = context.parameters.get("id") ?? ""
            let bundleId = request.uri.queryParameters["bundleId"].map(String.init)
            let environment = request.uri.queryParameters["environment"].map(String.init)
            if let tooMany = tooMany(request, context) { return tooMany }
            let pipeline = live.now.pipelines.customerView
            return await answer(context) { () async throws(CustomerViewError) in
                try await pipeline.view(transactionId: id, bundleId: bundleId, environment: environment)
            }
        }
    }

    /// Returns 429 if the client has exceeded its rate limit; otherwise `nil`.
    private func tooMany(_ request: Request, _ context: ProxyRequestContext) -> Response? {
        guard let seconds = clients?.wait(request, from: context.channel.remoteAddress, by: live.now.settings) else {
            return nil
        }
        var response = ProblemDetails.tooManyRequests.response
        response.headers[.retryAfter] = seconds
        return response
    }

    /// Returns the view, or a problem response. The work is canceled if the client disconnects.
    private func answer(
        _ context: ProxyRequestContext, _ view: @escaping @Sendable () async throws(CustomerViewError) -> [UInt8]
    ) async -> Response {
        let outcome = await disconnectMonitor.serving(context.channel) {
            () async -> Result<[UInt8], CustomerViewError> in
            do throws(CustomerViewError) {
                return .success(try await view())
            } catch {
                return .failure(error)
            }
        }
        var response: Response
        switch outcome {
        case .success(let json):
            response = Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: json)))
        case .failure(let error):
            response = ProblemDetails(error).response
            if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        }
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

extension ProblemDetails {
    init(_ error: CustomerViewError) {
        self.init(status: error.code.httpStatus, code: error.code.rawValue, detail: error.reason)
    }
}
