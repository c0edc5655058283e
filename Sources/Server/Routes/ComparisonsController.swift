import ReceiptBridgeComparison
import Hummingbird
import ReceiptBridgeStorage
import ReceiptBridgeCore

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
