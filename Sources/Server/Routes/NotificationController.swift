import HTTPTypes
import Hummingbird
import Pipeline

/// The endpoint that the App Store tells news to: App Store Server Notifications, both versions.
///
/// No token: who sends is known by the signature, or by the password. 200 means stored; a problem asks for another
/// delivery.
struct NotificationController: Sendable {
    let live: LiveParts
    let clients: ClientGuard

    func addRoutes(to router: Router<BridgeContext>) {
        router.post("/v1/notifications") { request, context in
            // Read in any case: a sender that is not listened to does not get to read the answer.
            let body = try await request.wholeBody(upTo: NotificationIntake.maximumBodyBytes)
            guard !request.hasEncodedBody else { return Problem.encodedBody.closingResponse }
            guard let body else {
                return Problem.bodyTooLarge(maximum: NotificationIntake.maximumBodyBytes).closingResponse
            }
            let parts = live.now
            // Not cancelled when the sender goes away: what is half done would only come again.
            do throws(NotificationRefusal) {
                try await parts.pipelines.notifications.take(body) {
                    clients.version1Wait(request, from: context.channel.remoteAddress, by: parts.settings)
                }
                return Response(status: .ok)
            } catch {
                var response = Problem(error).response
                response.headers[.retryAfter] = error.retryAfter
                return response
            }
        }
    }
}

extension Problem {
    init(_ refusal: NotificationRefusal) {
        self.init(status: refusal.code.httpStatus, code: refusal.code.rawValue, detail: refusal.reason)
    }
}
