import HTTPTypes
import Hummingbird
import NIOCore

/// `GET /openapi.json`: every route of both listeners, as OpenAPI 3.1, to everybody. The document is `docs/openapi.json`.
struct DescriptionController: Sendable {
    func addRoutes(to router: Router<BridgeContext>) {
        router.get("/openapi.json") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: PackageResources.openapi_json)))
        }
    }
}
