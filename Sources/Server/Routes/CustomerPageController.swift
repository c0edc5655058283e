import ReceiptBridgeBase
import ReceiptBridgeCore
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ReceiptBridgeComparison

/// Serves `GET /customers`, a form for support teams, and `POST /customers`, the page of the customer that was looked
/// up. Lookups use the batch share of the rate limit.
///
/// Nothing of a customer is in a URL, and nothing that was entered is logged, stored or shown again. A form of another
/// origin is refused: by the headers that browsers send, and by a value that only pages of this server contain.
struct CustomerPageController: Sendable {
    let endpoint: GatedEndpoint
    let logger: Logger

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.page("/customers", endpoint.authorization) { _, _ in page(.question, status: 200) }
        router.page("/customers", method: .post, endpoint.authorization) { try await answer($0, $1) }
    }

    private func answer(_ request: Request, _ context: ProxyRequestContext) async throws -> Response {
        let reservation = endpoint.bodies.reservation(on: context.channel)
        defer { reservation.release() }
        let result = try await request.body(counting: reservation)
        if case .failure(.encoded) = result { return RequestBodyRefusal.encoded.response }
        guard request.isFromSameOrigin("http", "https") else { return ProblemDetails.crossOrigin.response }
        if let tooMany = endpoint.tooMany(request, context) { return tooMany }
        let form: CustomerForm?
        switch result {
        case .success(let bytes): form = CustomerForm(bytes)
        case .failure(let refusal): return refusal.response
        }
        guard let form else { return page(.problem(.unrecognized), status: 400) }
        guard form.hasCurrentToken else { return page(.problem(.oldForm), status: 403, app: form.bundleId) }
        guard let question = CustomerQuestion(form.question) else {
            logger.notice("customer page: the text was not recognized")
            return page(.problem(.unrecognized), status: 400, app: form.bundleId)
        }
        let pipelines = endpoint.live.now.pipelines
        let lookup = CustomerPageLookup(
            views: pipelines.customerView.onBatchBudget, operations: pipelines.operations.onBatchBudget,
            bundleId: form.bundleId)
        let outcome = await endpoint.disconnectMonitor.serving(context.channel) {
            await lookup.answer(question)
        }
        logger.notice(
            "customer page",
            metadata: [
                "asked": "\(question.kind)", "outcome": "\(outcome.code)",
                "customers": .stringConvertible(outcome.customers),
            ])
        return page(outcome.content, status: outcome.status, app: form.bundleId)
    }

    private func page(_ content: CustomerPage.Content, status: Int, app: String? = nil) -> Response {
        let apps = endpoint.live.now.settings.apps.compactMap { $0.bundleId?.rawValue }
        let page = CustomerPage(
            apps: apps, selectedApp: app, formToken: CustomerForm.currentToken,
            requestId: RequestIdentifier.current, now: .now, content: content)
        return Response.page(page.page.html, status: HTTPResponse.Status(code: status), policy: CustomerPage.policy)
    }
}

extension ProblemDetails {
    fileprivate static let crossOrigin = ProblemDetails(
        status: 403, code: "crossOrigin", detail: "the form must be sent by a page of this server")
}
