import HTTPTypes
import Hummingbird
import NIOCore
import Telemetry

/// `GET /metrics`, for Prometheus.
struct MetricsController: Sendable {
    let metrics: BridgeMetrics
    let gate: TokenGate

    func addRoutes(to router: Router<BridgeContext>) {
        router.get("/metrics") { request, context in
            guard gate.admits(request, from: context.channel.remoteAddress) else { return Problem.notFound.response }
            return Response(
                status: .ok,
                headers: [
                    .contentType: MetricsText.contentType, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
                ],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: await metrics.text())))
        }
    }
}
