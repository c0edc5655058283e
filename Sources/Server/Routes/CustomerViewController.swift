import HTTPTypes
import Hummingbird
import NIOCore
import Pipeline

/// The endpoint of new clients: one view of a customer, in camelCase.
struct CustomerViewController: Sendable {
    let live: LiveParts
    let gate: TokenGate
    let presence: ClientPresence
    /// Nil on the operations listener.
    let clients: ClientGuard?
    let bodies: BodyAllowance

    func addRoutes(to router: Router<BridgeContext>) {
        router.post("/v1/receipts") { request, context in
            if let refusal = gate.refusal(of: request, from: context.channel.remoteAddress) { return refusal }
            let share = bodies.share(on: context.channel)
            defer { share.release() }
            let reading = try await request.body(counting: share)
            guard !request.hasEncodedBody else { return Problem.encodedBody.closingResponse }
            let body: [UInt8]
            switch reading {
            case .whole(let bytes): body = bytes
            case .tooLong: return Problem.bodyTooLarge.closingResponse
            case .noRoom: return BodyAllowance.refusal
            }
            if let tooMany = tooMany(request, context) { return tooMany }
            let pipeline = live.now.pipelines.customerView
            return await answer(context) { () async throws(CustomerViewError) in try await pipeline.view(body: body) }
        }
        router.get("/v1/transactions/{id}") { request, context in
            if let refusal = gate.refusal(of: request, from: context.channel.remoteAddress) { return refusal }
            let id = context.parameters.get("id") ?? ""
            let bundleId = request.uri.queryParameters["bundleId"].map(String.init)
            if let tooMany = tooMany(request, context) { return tooMany }
            let pipeline = live.now.pipelines.customerView
            return await answer(context) { () async throws(CustomerViewError) in
                try await pipeline.view(transactionId: id, bundleId: bundleId)
            }
        }
    }

    /// Nil for a client within its limits.
    private func tooMany(_ request: Request, _ context: BridgeContext) -> Response? {
        guard let seconds = clients?.wait(request, from: context.channel.remoteAddress, by: live.now.settings) else {
            return nil
        }
        var response = Problem.tooManyRequests.response
        response.headers[.retryAfter] = seconds
        return response
    }

    private func answer(
        _ context: BridgeContext, _ view: @escaping @Sendable () async throws(CustomerViewError) -> [UInt8]
    ) async -> Response {
        let outcome = await presence.serving(context.channel) { () async -> Result<[UInt8], CustomerViewError> in
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
            response = Problem(error).response
            if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        }
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

extension Problem {
    init(_ error: CustomerViewError) {
        self.init(status: error.code.httpStatus, code: error.code.rawValue, detail: error.reason)
    }
}
