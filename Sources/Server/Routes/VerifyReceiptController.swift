import ReceiptBridgeBase
import ReceiptBridgeCore
import HTTPTypes
import Hummingbird
import NIOCore
import ReceiptBridgeResponses
import class ReceiptBridgeTransport.ResponseReservation

/// Serves verifyReceipt to legacy clients, with Apple's path and behavior.
struct VerifyReceiptController: Sendable {
    /// Longest request body in bytes; the same limit as Apple's.
    static let maximumBodyBytes = 3_145_728
    /// Up to this many bytes of a longer body are read and discarded, so that the client reads the error response.
    static let drainedBodyBytes = 8 << 20
    /// `Retry-After` of an HTTP 503, in seconds, if nothing suggests another time.
    static let outageRetryAfter = "5"

    let live: ReloadableState
    let shadow: Shadow?
    let clients: ClientRateLimiter
    let disconnectMonitor: ClientDisconnectMonitor
    let bodies: RequestBodyBudget

    /// Other methods than POST get status 21000 with HTTP 200, as from Apple.
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
                    let reply = SourcedAnswer(
                        .failure(.notPost), source: .receipt, environment: (route ?? host).environment)
                    live.now.pipelines.verifyReceipt.count(reply)
                    let response = response(reply, context)
                    return method == .head ? response.createHeadResponse() : response
                }
            }
        }
    }

    /// Legacy clients know `buy.itunes.apple.com` and `sandbox.itunes.apple.com`; a host name that begins with one of
    /// their first labels selects the same endpoint. For example, `sandbox.receipts.example.com` is the sandbox.
    static func route(forHost host: String?) -> UpstreamRouter.Route {
        guard let host = host?.lowercased() else { return .auto }
        if host.hasPrefix("sandbox.") { return .only(.sandbox) }
        return host.hasPrefix("buy.") || host.hasPrefix("production.") ? .only(.production) : .auto
    }

    /// Evaluates the request. The body is read first, so that the client also reads an error response.
    private func answer(_ request: Request, context: ProxyRequestContext, route: UpstreamRouter.Route) async throws
        -> Response
    {
        let reservation = bodies.reservation(on: context.channel)
        defer { reservation.release() }
        let result = try await request.body(counting: reservation)
        let body: RequestBodyHandover
        switch consume result {
        case .success(let bytes): body = RequestBodyHandover(bytes)
        case .failure(.noRoom): return busy(route, retryAfter: RequestBodyBudget.retryAfter, context)
        case .failure(let refusal): return refusal.response
        }
        let snapshot = live.now
        if let seconds = clients.wait(request, on: context.channel, by: snapshot) {
            return busy(route, retryAfter: seconds, context)
        }
        var requestOptions = VerifyReceiptService.RequestOptions()
        if let name = snapshot.userHeader, let user = request.headers[name], !user.isEmpty {
            requestOptions.user = Redacted(user)
        }
        let capturedOptions = requestOptions
        let shadowed = snapshot.isShadowed ? body.bytes : nil
        let reply = await disconnectMonitor.serving(context.channel) {
            await snapshot.pipelines.verifyReceipt.answer(
                body: body.take(), route: route, requestOptions: capturedOptions)
        }
        if let shadowed { shadow?.observe(shadowed, route: route, reply: reply) }
        return response(reply, context)
    }

    // MARK: - Responses

    /// If a client has exceeded its rate limit or its body does not fit into the memory budget. Legacy clients retry
    /// 21005 (`outageStatus`) later; any other status could be taken for a decision on the receipt.
    private func busy(_ route: UpstreamRouter.Route, retryAfter seconds: String, _ context: ProxyRequestContext)
        -> Response
    {
        let reply = SourcedAnswer(.temporarilyUnavailable(), source: .receipt, environment: route.environment)
        live.now.pipelines.verifyReceipt.count(reply)
        var response = response(reply, context)
        response.headers[.retryAfter] = seconds
        return response
    }

    /// Returns the HTTP response, with status 200 unless `outageStatus` is 503. Its headers name source and
    /// environment, because the body is exactly Apple's format.
    private func response(_ reply: SourcedAnswer, _ context: ProxyRequestContext) -> Response {
        context.outcome.record(reply)
        let outageStatus = live.now.settings.outageStatus
        let isUnavailable = reply.answer.isOwnOutage && outageStatus == .serviceUnavailable
        var headers = HTTPFields()
        headers.reserveCapacity(6)
        if reply.answer.isOwnOutage { headers[.retryAfter] = Self.outageRetryAfter }
        // `append` is faster than the subscript, which first searches for fields with the same name.
        headers.append(HTTPField(name: .contentType, value: "application/json"))
        headers.append(HTTPField(name: .receiptBridgeSource, value: reply.source.rawValue))
        headers.append(HTTPField(name: .receiptBridgeEnvironment, value: reply.environment.rawValue))
        return Response(
            status: isUnavailable ? .serviceUnavailable : .ok, headers: headers,
            body: body(reply.body(outageStatus), memory: reply.memory, on: context.channel.eventLoop))
    }

    /// The size of the pieces in which a long body is written, as much as a connection buffers.
    private static let pieceBytes = 64 << 10

    /// Returns the HTTP body. The memory of a long one is reserved until the client has read it.
    private func body(_ bytes: [UInt8], memory: ResponseReservation?, on eventLoop: any EventLoop) -> ResponseBody {
        guard let memory, bytes.count > Self.pieceBytes else {
            return ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        }
        return ResponseBody(contentLength: bytes.count) { writer in
            for start in stride(from: 0, to: bytes.count, by: Self.pieceBytes) {
                try await writer.write(ByteBuffer(bytes: bytes[start...].prefix(Self.pieceBytes)))
                // Until the event loop has the piece, the writer does not know whether the next one has to wait.
                try await eventLoop.submit {}.get()
            }
            try await writer.finish(nil)
            withExtendedLifetime(memory) {}
        }
    }
}

extension HTTPField.Name {
    /// The source of a verifyReceipt response: `apple`, `api`, `stored` or `receipt`.
    static let receiptBridgeSource = literal("Receipt-Bridge-Source")
    /// The App Store environment of a verifyReceipt response: `Production` or `Sandbox`.
    static let receiptBridgeEnvironment = literal("Receipt-Bridge-Environment")
}

/// Receives App Store Server Notifications, version 1 and 2, at `/v1/notifications`.
///
/// No token is required: the sender is authenticated by the signature (version 2) or the shared secret (version 1).
/// 200 means that the notification is stored; after an error the App Store sends it again.
struct NotificationController: Sendable {
    let live: ReloadableState
    let clients: ClientRateLimiter
    let bodies: RequestBodyBudget

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.post("/v1/notifications") { request, context in
            let reservation = bodies.reservation(on: context.channel)
            defer { reservation.release() }
            let body: [UInt8]
            switch try await request.body(upTo: NotificationReceiver.maximumBodyBytes, counting: reservation) {
            case .success(let bytes): body = bytes
            case .failure(let refusal): return refusal.response
            }
            let snapshot = live.now
            // Not canceled if the sender disconnects, because the notification would only be sent again.
            do throws(NotificationRejection) {
                try await snapshot.pipelines.notifications.receive(body) {
                    clients.version1Wait(request, on: context.channel, by: snapshot)
                }
                return Response(status: .ok)
            } catch {
                var response = ProblemDetails(error).response
                response.headers[.retryAfter] = error.retryAfter
                return response
            }
        }
    }
}

extension ProblemDetails {
    init(_ refusal: NotificationRejection) {
        self.init(status: refusal.code.httpStatus, code: refusal.code.rawValue, detail: refusal.reason)
    }
}
