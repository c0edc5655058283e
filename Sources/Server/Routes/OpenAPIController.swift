import HTTPTypes
import Hummingbird
import NIOCore

/// `GET /openapi.json`: every route of both listeners, as OpenAPI 3.1, to everybody. The document is `docs/openapi.json`.
struct OpenAPIController: Sendable {
    /// Shared by all answers.
    private static let document = ByteBuffer(bytes: PackageResources.openapi_json)

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.get("/openapi.json") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/json", .xContentTypeOptions: "nosniff"],
                body: ResponseBody(byteBuffer: Self.document))
        }
    }
}
