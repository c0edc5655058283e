import ReceiptBridgeCore
import HTTPTypes
import Hummingbird

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
