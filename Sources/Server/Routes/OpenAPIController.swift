import HTTPTypes
import Hummingbird
import NIOCore

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
