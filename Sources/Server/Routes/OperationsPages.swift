import ReceiptBridgeBase
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ReceiptBridgeComparison
import ReceiptBridgeStorage
import ReceiptBridgeCore

extension ProxyServer {
    /// Serves `/healthz` (liveness: the process responds) and `/readyz` (readiness: load balancers may send requests).
    ///
    /// A missing store or an App Store outage does not make the server unready, because receipts are answered all the
    /// same. On the operations listener authorized callers get the warnings of `/readyz` as JSON, too.
    func addHealthRoutes(to router: Router<ProxyRequestContext>, _ authorization: BearerTokenMiddleware) {
        router.get("/healthz") { _, _ in "ok\n" }
        router.get("/readyz") { request, context in
            let isReady = state.phase == .ready
            let status: HTTPResponse.Status = isReady ? .ok : .serviceUnavailable
            guard authorization.listener == .operations, authorization.allows(request, context) else {
                let text = Array((isReady ? "ok\n" : "not ready\n").utf8)
                return Response(text, type: "text/plain; charset=utf-8", status: status)
            }
            var response = Response(await readiness(), status: status)
            response.headers[.cacheControl] = "no-store"
            return response
        }
    }

    /// The JSON of `/readyz`. For example, `{"status":"ok","version":"1.2.3","customersToLookUp":0,"warnings":[]}`.
    private func readiness() async -> [UInt8] {
        let phase = state.phase
        let backlog = (try? await store?.outbox.deliveryBacklog()) ?? []
        let waiting = await customersToLookUp
        return JSONWriter.object { writer in
            writer.member("status", phase == .ready ? "ok" : "\(phase)")
            writer.member("version", version)
            writer.member("customersToLookUp", ifPresent: waiting)
            writer.objects("warnings", warnings(backlog, waiting)) { writer, warning in
                writer.member("code", warning.code.rawValue)
                writer.member("detail", warning.detail)
            }
        }
    }

    /// Serves `GET /`, the status page, and `GET /metrics` in the Prometheus text format.
    func addPages(to router: Router<ProxyRequestContext>, _ authorization: BearerTokenMiddleware) {
        router.page("/", authorization) { _, _ in
            Response.page(StatusPage(await StatusSnapshot(self)).page.html, policy: StatusPage.policy)
        }
        router.page("/metrics", authorization) { _, _ in
            var response = Response(await MetricsExporter(server: self).text(), type: MetricsText.contentType)
            response.headers[.cacheControl] = "no-store"
            response.headers[.xContentTypeOptions] = "nosniff"
            return response
        }
    }

    /// Shared by all responses.
    private static let document = ByteBuffer(bytes: PackageResources.openapi_json)

    /// Serves `GET /openapi.json` without authorization: an OpenAPI 3.1 document of all routes of both listeners. The
    /// source is `docs/openapi.json`.
    func addDocument(to router: Router<ProxyRequestContext>) {
        router.get("/openapi.json") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/json", .xContentTypeOptions: "nosniff"],
                body: ResponseBody(byteBuffer: Self.document))
        }
    }
}

extension Router<ProxyRequestContext> {
    /// Adds a route of a page or of the metrics, which answers 404 to requests that may not use it.
    func page(
        _ path: RouterPath, method: HTTPRequest.Method = .get, _ authorization: BearerTokenMiddleware,
        _ respond: @escaping @Sendable (Request, ProxyRequestContext) async throws -> Response
    ) {
        on(path, method: method) { request, context in
            guard authorization.allows(request, context) else { return ProblemDetails.notFound.response }
            return try await respond(request, context)
        }
    }
}

extension Response {
    init(_ bytes: [UInt8], type: String = "application/json", status: HTTPResponse.Status = .ok) {
        self.init(
            status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// Creates the response of a page, which no cache keeps.
    ///
    /// - Parameter policy: the page's policy from ``ContentPolicy``.
    static func page(
        _ bytes: [UInt8], status: HTTPResponse.Status = .ok, policy: String, type: String = "text/html; charset=utf-8"
    ) -> Response {
        var response = Response(bytes, type: type, status: status)
        response.headers[.cacheControl] = "no-store"
        response.headers[.contentSecurityPolicy] = ContentPolicy.header(policy)
        response.headers[.xContentTypeOptions] = "nosniff"
        return response
    }
}

/// Serves the results of background comparisons as HTML, JSON or Markdown:
///
///     GET /comparisons?days=7&format=html|json|md
struct ComparisonsController: Sendable {
    let shadow: Shadow?
    let authorization: BearerTokenMiddleware

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.page("/comparisons", authorization) { request, _ in await page(request) }
    }

    /// Returns the report of the last `days` days; 1 to ``Shadow/days``, which is the default.
    private func page(_ request: Request) async -> Response {
        guard let shadow, shadow.hasApps else {
            return ProblemDetails(
                status: 404, code: "noShadow",
                detail:
                    "No app compares its sources in the background: set shadow: apple or shadow: api in the configuration."
            ).response
        }
        let query = request.uri.queryParameters
        guard let format = ReportFile.Kind(rawValue: query["format"].map(String.init) ?? "html"),
            let days = Int64(query["days"].map(String.init) ?? "\(Shadow.days)"), (1...Shadow.days).contains(days)
        else {
            return ProblemDetails(
                status: 400, code: "badQuery",
                detail: "format must be html, json or md; days must be 1 to \(Shadow.days)."
            ).response
        }
        do throws(StorageError) {
            let report = try await shadow.report(days: days)
            return Response.page(report.bytes(as: format), policy: ComparisonPage.policy, type: format.contentType)
        } catch {
            return ProblemDetails(
                status: 503, code: "storeUnavailable",
                detail: "The store cannot be read at the moment."
            ).response
        }
    }
}

extension ReportFile.Kind {
    fileprivate var contentType: String {
        switch self {
        case .html: "text/html; charset=utf-8"
        case .json: "application/json"
        case .md: "text/markdown; charset=utf-8"
        }
    }
}
