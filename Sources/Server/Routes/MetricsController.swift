import HTTPTypes
import Hummingbird
import NIOCore
import Telemetry

/// Serves `GET /metrics` in the Prometheus text format.
struct MetricsController: Sendable {
    let metrics: MetricsExporter
    let authorization: BearerTokenMiddleware

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.get("/metrics") { request, context in
            guard authorization.allows(request, from: context.channel.remoteAddress) else {
                return ProblemDetails.notFound.response
            }
            return Response(
                status: .ok,
                headers: [
                    .contentType: MetricsText.contentType, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
                ],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: await metrics.text())))
        }
    }
}
