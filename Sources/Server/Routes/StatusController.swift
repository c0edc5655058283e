import HTTPTypes
import Hummingbird
import NIOCore
import Reports

/// `GET /`: the page of a running server, for people.
struct StatusController: Sendable {
    let view: BridgeView
    let gate: TokenGate

    func addRoutes(to router: Router<BridgeContext>) {
        router.get("/") { request, context in
            guard gate.admits(request, from: context.channel.remoteAddress) else { return Problem.notFound.response }
            var headers: HTTPFields = [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"]
            headers[.contentSecurityPolicy] = ContentPolicy.header(StatusPage.policy)
            headers[.xContentTypeOptions] = "nosniff"
            let page = StatusPage(await StatusFigures(view))
            return Response(
                status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: page.bytes)))
        }
    }
}
