import HTTPTypes
import Hummingbird
import NIOCore
import Reports

/// Serves `GET /`, the status page.
struct StatusController: Sendable {
    let view: ServerHealth
    let authorization: BearerTokenMiddleware

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.get("/") { request, context in
            guard authorization.allows(request, from: context.channel.remoteAddress) else {
                return ProblemDetails.notFound.response
            }
            var headers: HTTPFields = [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"]
            headers[.contentSecurityPolicy] = ContentPolicy.header(StatusPage.policy)
            headers[.xContentTypeOptions] = "nosniff"
            let page = StatusPage(await StatusSnapshot(view))
            return Response(
                status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: page.bytes)))
        }
    }
}
