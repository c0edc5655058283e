import HTTPTypes
import Hummingbird
import ReceiptBridgeResponses
import ReceiptBridgeCore

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
