import HTTPTypes
import Hummingbird
import NIOCore

/// `GET /openapi.json`: every route of both listeners, as OpenAPI 3.1. The document is `docs/openapi.json`.
struct DescriptionController: Sendable {
    let gate: TokenGate

    func addRoutes(to router: Router<BridgeContext>) {
        router.get("/openapi.json") { request, context in
            guard gate.admits(request, from: context.channel.remoteAddress) else { return Problem.notFound.response }
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: PackageResources.openapi_json)))
        }
    }
}
