import HTTPTypes
import Hummingbird
import ReceiptBridgeCore

/// Serves the routes of support and finance teams: `/v1/orders/{orderId}` and the others of ``AppOperations``.
struct OperationsRoutes: Sendable {
    let endpoint: GatedEndpoint

    /// The longest body of these routes, in bytes.
    private static let maximumBodyBytes = 64 << 10

    func addRoutes(to router: Router<ProxyRequestContext>) {
        router.get("/v1/orders/{orderId}") { request, context in
            let (id, target) = (context.parameters.get("orderId") ?? "", OperationTarget(request))
            return await endpoint.respond(to: request, context) { [operations] () async throws(OperationError) in
                try await operations.order(id, target)
            }
        }
        router.get("/v1/customers") { request, context in
            let token = request.uri.queryParameters["appAccountToken"].map(String.init)
            let (views, target) = (endpoint.live.now.pipelines.customerView, OperationTarget(request))
            return await endpoint.respond(to: request, context) { [operations] () async throws(OperationError) in
                try await operations.customers(withToken: token, views, target)
            }
        }
        router.get("/v1/notifications/{uuid}") { request, context in
            let uuid = context.parameters.get("uuid") ?? ""
            return await endpoint.respond(to: request, context) { [operations] () async throws(OperationError) in
                try await operations.notification(uuid)
            }
        }
        router.post("/v1/consumption/{transactionId}") { request, context in
            let (id, target) = (context.parameters.get("transactionId") ?? "", OperationTarget(request))
            return try await endpoint.respond(to: request, context, bodyUpTo: Self.maximumBodyBytes) {
                [operations] body async throws(OperationError) in
                try await operations.consumption(id, body: body, target)
            }
        }
        router.put("/v1/transactions/{id}/appAccountToken") { request, context in
            let (id, target) = (context.parameters.get("id") ?? "", OperationTarget(request))
            return try await endpoint.respond(to: request, context, bodyUpTo: Self.maximumBodyBytes) {
                [operations] body async throws(OperationError) in
                try await operations.setAppAccountToken(of: id, body: body, target)
            }
        }
    }

    /// The operations of the configuration in use.
    private var operations: AppOperations { endpoint.live.now.pipelines.operations }
}

extension OperationTarget {
    /// The app and the environment that a request names.
    fileprivate init(_ request: Request) {
        let query = request.uri.queryParameters
        self.init(
            bundleId: query["bundleId"].map(String.init), environment: query["environment"].map(String.init))
    }
}
