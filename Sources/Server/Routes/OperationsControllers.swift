import ReceiptBridgeBase
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ReceiptBridgeComparison
import ReceiptBridgeStorage

/// Serves `/healthz` (liveness: the process responds) and `/readyz` (readiness: load balancers may send requests).
///
/// A missing store or an App Store outage does not make the server unready, because receipts are answered all the
/// same. On the operations listener authorized callers get the warnings of `/readyz` as JSON, too.
struct HealthController: Sendable {
    let health: ServerHealth
    let authorization: BearerTokenMiddleware

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.get("/healthz") { _, _ in "ok\n" }
        router.get("/readyz") { request, context in
            let phase = health.state.phase
            let status: HTTPResponse.Status = phase == .ready ? .ok : .serviceUnavailable
            guard authorization.listener == .operations,
                authorization.allows(request, from: context.channel.remoteAddress)
            else {
                return Response(
                    status: status, headers: [.contentType: "text/plain; charset=utf-8"],
                    body: ResponseBody(byteBuffer: ByteBuffer(string: phase == .ready ? "ok\n" : "not ready\n")))
            }
            let backlog = (try? await health.store?.outbox.deliveryBacklog()) ?? []
            let waiting = await health.customersToLookUp
            let report = Report(phase, health.warnings(backlog, waiting), waiting, health.version)
            return Response(
                status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: report.json)))
        }
    }

    /// The JSON of `/readyz`. For example, `{"status":"ok","version":"1.2.3","customersToLookUp":0,"warnings":[]}`.
    private struct Report {
        /// `ok`, `starting` or `draining`.
        let status: String
        let version: String
        let customersToLookUp: Int64?
        let warnings: [HealthWarning]

        init(_ phase: LifecycleState.Phase, _ warnings: [HealthWarning], _ waiting: Int64?, _ version: String) {
            customersToLookUp = waiting
            status = phase == .ready ? "ok" : "\(phase)"
            self.version = version
            self.warnings = warnings
        }

        var json: [UInt8] {
            JSONWriter.object { writer in
                writer.member("status", status)
                writer.member("version", version)
                if let customersToLookUp { writer.member("customersToLookUp", customersToLookUp) }
                writer.array("warnings", warnings) { writer, warning in
                    writer.object {
                        $0.member("code", warning.code.rawValue)
                        $0.member("detail", warning.detail)
                    }
                }
            }
        }
    }
}

/// Serves `GET /`, the status page.
struct StatusController: Sendable {
    let health: ServerHealth
    let authorization: BearerTokenMiddleware

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.get("/") { request, context in
            if let refusal = authorization.notFound(request, context) { return refusal }
            return Response.page(StatusPage(await StatusSnapshot(health)).page.html, policy: StatusPage.policy)
        }
    }
}

extension Response {
    /// Creates the response of a page, which no cache keeps.
    ///
    /// - Parameter policy: the page's policy from ``ContentPolicy``.
    static func page(
        _ bytes: [UInt8], status: HTTPResponse.Status = .ok, policy: String, type: String = "text/html; charset=utf-8"
    ) -> Response {
        var headers: HTTPFields = [.contentType: type, .cacheControl: "no-store"]
        headers[.contentSecurityPolicy] = ContentPolicy.header(policy)
        headers[.xContentTypeOptions] = "nosniff"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

/// Serves `GET /metrics` in the Prometheus text format.
struct MetricsController: Sendable {
    let metrics: MetricsExporter
    let authorization: BearerTokenMiddleware

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.get("/metrics") { request, context in
            if let refusal = authorization.notFound(request, context) { return refusal }
            return Response(
                status: .ok,
                headers: [
                    .contentType: MetricsText.contentType, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
                ],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: await metrics.text())))
        }
    }
}

/// Serves `GET /openapi.json` without authorization: an OpenAPI 3.1 document of all routes of both listeners. The
/// source is `docs/openapi.json`.
struct OpenAPIController: Sendable {
    /// Shared by all responses.
    private static let document = ByteBuffer(bytes: PackageResources.openapi_json)

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.get("/openapi.json") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/json", .xContentTypeOptions: "nosniff"],
                body: ResponseBody(byteBuffer: Self.document))
        }
    }
}
