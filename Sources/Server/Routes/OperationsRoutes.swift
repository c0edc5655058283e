import HTTPTypes
import Hummingbird
import NIOCore
import Operations

/// Serves the routes of support and finance teams: `/v1/orders/{orderId}` and the others of ``AppOperations``.
struct OperationsRoutes: Sendable {
    let live: ReloadableState
    let authorization: BearerTokenMiddleware
    let disconnectMonitor: ClientDisconnectMonitor
    /// `nil` on the operations listener, whose clients are not rate-limited.
    let clients: ClientRateLimiter?
    let bodies: RequestBodyBudget

    private typealias Operation =
        @Sendable (AppOperations, OperationTarget) async throws(OperationError) -> [UInt8]

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.get("/v1/orders/{orderId}") { request, context in
            let id = context.parameters.get("orderId") ?? ""
            return await answer(request, context) { operations, target async throws(OperationError) in
                try await operations.order(id, target)
            }
        }
        router.get("/v1/customers") { request, context in
            let token = request.uri.queryParameters["appAccountToken"].map(String.init)
            let view = live.now.pipelines.customerView
            return await answer(request, context) { operations, target async throws(OperationError) in
                try await operations.customers(withToken: token, view, target)
            }
        }
        router.get("/v1/notifications/{uuid}") { request, context in
            let uuid = context.parameters.get("uuid") ?? ""
            return await answer(request, context) { operations, _ async throws(OperationError) in
                try await operations.notification(uuid)
            }
        }
        router.post("/v1/consumption/{transactionId}") { request, context in
            let id = context.parameters.get("transactionId") ?? ""
            return try await answerBody(request, context) { operations, body, target async throws(OperationError) in
                try await operations.consumption(id, body: body, target)
            }
        }
        router.put("/v1/transactions/{id}/appAccountToken") { request, context in
            let id = context.parameters.get("id") ?? ""
            return try await answerBody(request, context) { operations, body, target async throws(OperationError) in
                try await operations.setAppAccountToken(of: id, body: body, target)
            }
        }
    }

    /// The longest body of these routes, in bytes.
    private static let maximumBodyBytes = 64 << 10

    /// Reads the body of a request, and runs an operation with it.
    private func answerBody(
        _ request: Request, _ context: ProxyRequestContext,
        _ operation:
            @escaping @Sendable (AppOperations, [UInt8], OperationTarget) async throws(OperationError) -> [UInt8]
    ) async throws -> Response {
        if let refusal = authorization.refusal(of: request, from: context.channel.remoteAddress) { return refusal }
        let reservation = bodies.reservation(on: context.channel)
        defer { reservation.release() }
        let result = try await request.body(upTo: Self.maximumBodyBytes, counting: reservation)
        guard !request.hasEncodedBody else { return ProblemDetails.encodedBody.closingResponse }
        let body: [UInt8]
        switch result {
        case .whole(let bytes): body = bytes
        case .tooLong: return ProblemDetails.bodyTooLarge(maximum: Self.maximumBodyBytes).closingResponse
        case .noRoom: return RequestBodyBudget.refusal
        }
        if let tooMany = tooMany(request, context) { return tooMany }
        return await run(request, context) { operations, target async throws(OperationError) in
            try await operation(operations, body, target)
        }
    }

    /// Checks the authorization and the rate limit, and runs an operation. The work is canceled if the client disconnects.
    private func answer(_ request: Request, _ context: ProxyRequestContext, _ operation: @escaping Operation) async
        -> Response
    {
        if let refusal = authorization.refusal(of: request, from: context.channel.remoteAddress) { return refusal }
        if let tooMany = tooMany(request, context) { return tooMany }
        return await run(request, context, operation)
    }

    private func run(_ request: Request, _ context: ProxyRequestContext, _ operation: @escaping Operation) async
        -> Response
    {
        let query = request.uri.queryParameters
        let target = OperationTarget(
            bundleId: query["bundleId"].map(String.init), environment: query["environment"].map(String.init))
        let operations = live.now.pipelines.operations
        let outcome = await disconnectMonitor.serving(context.channel) { () async -> Result<[UInt8], OperationError> in
            do throws(OperationError) {
                return .success(try await operation(operations, target))
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

    /// Returns 429 if the client has exceeded its rate limit; otherwise `nil`.
    private func tooMany(_ request: Request, _ context: ProxyRequestContext) -> Response? {
        guard let seconds = clients?.wait(request, from: context.channel.remoteAddress, by: live.now.settings) else {
            return nil
        }
        var response = ProblemDetails.tooManyRequests.response
        response.headers[.retryAfter] = seconds
        return response
    }
}

extension ProblemDetails {
    init(_ error: OperationError) {
        self.init(status: error.code.httpStatus, code: error.code.rawValue, detail: error.reason)
    }
}
