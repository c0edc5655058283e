import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Ledger

/// Serves `/healthz` (liveness: the process responds) and `/readyz` (readiness: load balancers may send requests).
///
/// A missing store or an App Store outage does not make the server unready, because receipts are answered all the
/// same. On the operations listener authorized callers get the warnings of `/readyz` as JSON, too.
struct HealthController: Sendable {
    let view: ServerHealth
    let authorization: BearerTokenMiddleware

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.get("/healthz") { _, _ in "ok\n" }
        router.get("/readyz") { request, context in
            let phase = view.state.phase
            let status: HTTPResponse.Status = phase == .ready ? .ok : .serviceUnavailable
            guard authorization.listener == .operations,
                authorization.allows(request, from: context.channel.remoteAddress)
            else {
                return Response(
                    status: status, headers: [.contentType: "text/plain; charset=utf-8"],
                    body: ResponseBody(byteBuffer: ByteBuffer(string: phase == .ready ? "ok\n" : "not ready\n")))
            }
            let backlog = (try? await view.store?.deliveryBacklog()) ?? []
            return Response(
                status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
                body: ResponseBody(
                    byteBuffer: ByteBuffer(bytes: Report(phase, view.warnings(backlog), view.version).json)))
        }
    }

    /// The JSON of `/readyz`. For example, `{"status":"ok","version":"1.2.3","warnings":[]}`.
    private struct Report: Encodable {
        /// `ok`, `starting` or `draining`.
        let status: String
        let version: String
        let warnings: [ServerHealth.Warning]

        init(_ phase: LifecycleState.Phase, _ warnings: [ServerHealth.Warning], _ version: String) {
            status = phase == .ready ? "ok" : "\(phase)"
            self.version = version
            self.warnings = warnings
        }

        var json: [UInt8] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return (try? encoder.encode(self)).map { [UInt8]($0) } ?? []
        }
    }
}
