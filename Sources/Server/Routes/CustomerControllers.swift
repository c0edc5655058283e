import HTTPTypes
import Hummingbird
import ReceiptBridgeResponses
import ReceiptBridgeCore
import ReceiptBridgeBase
import Logging
import NIOCore
import ReceiptBridgeComparison
import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import Foundation

/// Serves `/v1/receipts` and `/v1/transactions/{id}`, the endpoints of new clients: a view of a customer in
/// camelCase.
struct CustomerViewController: Sendable {
    let endpoint: GatedEndpoint

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.post("/v1/receipts") { request, context in
            let views = endpoint.live.now.pipelines.customerView
            return try await endpoint.respond(
                to: request, context, bodyUpTo: VerifyReceiptController.maximumBodyBytes
            ) { body async throws(OperationError) in views.renderer.render(try await views.view(body: body)) }
        }
        router.get("/v1/transactions/{id}") { request, context in
            let id = context.parameters.get("id") ?? ""
            let bundleId = request.uri.queryParameters["bundleId"].map(String.init)
            let environment = request.uri.queryParameters["environment"].map(String.init)
            let views = endpoint.live.now.pipelines.customerView
            return await endpoint.respond(to: request, context) { () async throws(OperationError) in
                views.renderer.render(
                    try await views.view(transactionId: id, bundleId: bundleId, environment: environment))
            }
        }
    }
}

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

/// Looks up what a support person entered.
struct CustomerPageLookup: Sendable {
    /// The content of the page, and what the log says about it.
    struct PageResult: Sendable {
        let content: CustomerPage.Content
        /// HTTP status of the page.
        let status: Int
        /// `shown`, or the code of the error.
        let code: String
        let customers: Int
    }

    let views: CustomerViewService
    let operations: AppOperations
    /// The chosen app; `nil` if the form has no choice.
    let bundleId: String?

    func answer(_ question: CustomerQuestion) async -> PageResult {
        do throws(OperationError) {
            switch question {
            case .transactionId(let id): return shown([try await views.view(transactionId: id, bundleId: bundleId)])
            case .orderId(let id): return try await answer(orderId: id)
            case .accountToken(let token):
                let found = try await operations.views(withToken: token, views, target)
                return found.isEmpty ? failed(.unknownToken, status: 404) : shown(found)
            case .receipt(let bytes): return shown([try await views.view(receiptText: bytes)])
            case .signedText(let text):
                // As `POST /v1/receipts` does with a signed text.
                let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
                return shown([try await views.view(signed: trimmed, bundleId: bundleId)])
            }
        } catch {
            return failed(CustomerProblem(error), status: error.code.httpStatus)
        }
    }

    /// Shows the customer who owns the first purchase of an order.
    private func answer(orderId: String) async throws(OperationError) -> PageResult {
        let report = try await operations.orderReport(orderId, target)
        guard let id = report.order.transactions.first?.payload.transactionId else {
            throw OperationError(.transactionNotFound, "there is no such order, or it has no purchase of this app")
        }
        return shown(
            [try await views.view(transactionId: id, bundleId: bundleId)],
            CustomerOrder(purchases: report.order.transactions.count))
    }

    private var target: OperationTarget { OperationTarget(bundleId: bundleId, environment: nil) }

    private func shown(_ views: [CustomerView], _ order: CustomerOrder? = nil) -> PageResult {
        let customers = views.map { CustomerDocument($0, self.views.renderer) }
        return PageResult(
            content: .customers(customers, order: order), status: 200, code: "shown", customers: customers.count)
    }

    private func failed(_ problem: CustomerProblem, status: Int) -> PageResult {
        PageResult(content: .problem(problem), status: status, code: problem.code, customers: 0)
    }
}
