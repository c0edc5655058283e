import HTTPTypes
import Hummingbird
import NIOCore
import Pipeline
import Rendering
import Shadowing
import StoreTypes

/// The endpoint of old clients: Apple's path and manners.
struct VerifyReceiptController: Sendable {
    /// Bytes; Apple's own limit.
    static let maximumBodyBytes = 3_145_728
    /// Bytes of a longer body that are read and thrown away, so that its sender gets to read the answer.
    static let drainedBodyBytes = 8 << 20

    let live: ReloadableState
    let shadow: Shadow?
    let clients: ClientRateLimiter
    let disconnectMonitor: ClientDisconnectMonitor
    let bodies: RequestBodyBudget

    func addRoutes(to router: Router<ProxyRequestContext>) {
        let paths: [(path: RouterPath, route: UpstreamRouter.Route?)] = [
            ("/verifyReceipt", nil),
            ("/WebObjects/MZFinance.woa/wa/verifyReceipt", nil),
            ("/production/verifyReceipt", .only(.production)),
            ("/sandbox/verifyReceipt", .only(.sandbox)),
        ]
        for (path, route) in paths {
            router.post(path) { request, context in
                try await answer(request, context: context, route: route ?? Self.route(forHost: request.head.authority))
            }
            for method in [HTTPRequest.Method.get, .head, .put, .delete, .patch, .options] {
                router.on(path, method: method) { request, context in
                    let host = Self.route(forHost: request.head.authority)
                    let reply = VerifyReceiptResult(
                        .failure(.notPost), source: .receipt, environment: (route ?? host).environment)
                    live.now.pipelines.verifyReceipt.count(reply)
                    let response = response(reply, context)
                    return method == .head ? response.createHeadResponse() : response
                }
            }
        }
    }

    /// Old clients know two host names; a name of ours that begins like one of them means the same endpoint.
    static func route(forHost host: String?) -> UpstreamRouter.Route {
        guard let host = host?.lowercased() else { return .auto }
        if host.hasPrefix("sandbox.") { return .only(.sandbox) }
        return host.hasPrefix("buy.") || host.hasPrefix("production.") ? .only(.production) : .auto
    }

    private func answer(_ request: Request, context: ProxyRequestContext, route: UpstreamRouter.Route) async throws
        -> Response
    {
        let share = bodies.share(on: context.channel)
        defer { share.release() }
        let reading = try await request.body(counting: share)
        guard !request.hasEncodedBody else { return ProblemDetails.encodedBody.closingResponse }
        let body: [UInt8]
        switch reading {
        case .whole(let bytes): body = bytes
        case .tooLong: return ProblemDetails.bodyTooLarge.closingResponse
        case .noRoom: return busy(route, retryAfter: RequestBodyBudget.retryAfter, context)
        }
        let parts = live.now
        if let seconds = clients.wait(request, from: context.channel.remoteAddress, by: parts.settings) {
            return busy(route, retryAfter: seconds, context)
        }
        var requestOptions = VerifyReceiptService.RequestOptions()
        if let name = parts.userHeader, let user = request.headers[name], !user.isEmpty {
            requestOptions.user = Redacted(user)
        }
        let asked = requestOptions
        let reply = await disconnectMonitor.serving(context.channel) {
            await parts.pipelines.verifyReceipt.answer(body: body, route: route, requestOptions: asked)
        }
        if parts.isShadowed { shadow?.observe(body, route: route, reply: reply) }
        return response(reply, context)
    }

    // MARK: - Responses

    /// To who sends too much, and if there is no room for the body: 21005, which old clients know to mean "later", never a number that they could take for a
    /// verdict on the receipt.
    private func busy(_ route: UpstreamRouter.Route, retryAfter seconds: String, _ context: ProxyRequestContext)
        -> Response
    {
        let reply = VerifyReceiptResult(
            .temporarilyUnavailable(isRetryable: true), source: .receipt, environment: route.environment)
        live.now.pipelines.verifyReceipt.count(reply)
        var response = response(reply, context)
        response.headers[.retryAfter] = seconds
        return response
    }

    private func response(_ reply: VerifyReceiptResult, _ context: ProxyRequestContext) -> Response {
        context.outcome.answered(reply)
        var headers = HTTPFields()
        headers.reserveCapacity(6)
        headers[.contentType] = "application/json"
        headers[.receiptBridgeSource] = reply.source.rawValue
        headers[.receiptBridgeEnvironment] = reply.environment.rawValue
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: reply.answer.body)))
    }
}

extension HTTPField.Name {
    /// Where a verdict comes from.
    static let receiptBridgeSource = known("Receipt-Bridge-Source")
    /// Which part of the App Store it is about.
    static let receiptBridgeEnvironment = known("Receipt-Bridge-Environment")
}
