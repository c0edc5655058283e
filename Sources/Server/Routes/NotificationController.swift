import HTTPTypes
import Hummingbird
import Pipeline

/// The endpoint that the App Store tells news to: App Store Server Notifications, both versions.
///
/// No token: who sends is known by the signature, or by the password. 200 means stored; a problem asks for another
/// delivery.
struct NotificationController: Sendable {
    let live: ReloadableState
    let clients: ClientRateLimiter
    let bodies: RequestBodyBudget

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.post("/v1/notifications") { request, context in
            let share = bodies.share(on: context.channel)
            defer { share.release() }
            let reading = try await request.body(upTo: NotificationReceiver.maximumBodyBytes, counting: share)
            guard !request.hasEncodedBody else { return ProblemDetails.encodedBody.closingResponse }
            let body: [UInt8]
            switch reading {
            case .whole(let bytes): body = bytes
            case .tooLong:
                return ProblemDetails.bodyTooLarge(maximum: NotificationReceiver.maximumBodyBytes).closingResponse
            case .noRoom: return RequestBodyBudget.refusal
            }
            let parts = live.now
            // Not cancelled when the sender goes away: what is half done would only come again.
            do throws(NotificationRejection) {
                try await parts.pipelines.notifications.receive(body) {
                    clients.version1Wait(request, from: context.channel.remoteAddress, by: parts.settings)
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
