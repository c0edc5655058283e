import Hummingbird
import ReceiptBridgeCore
import ReceiptBridgeTransport
import HTTPTypes

extension ProxyServer {
    /// Legacy clients and the App Store need no token; all other routes do, see ``BearerTokenMiddleware``.
    func publicRouter() -> Router<ProxyRequestContext> {
        let router = loggedRouter()
        VerifyReceiptController(
            live: live, shadow: shadow, clients: clients, disconnectMonitor: disconnectMonitor.public, bodies: bodies
        )
        .addRoutes(to: router)
        NotificationController(live: live, clients: clients, bodies: bodies).addRoutes(to: router)
        addRoutes(of: .public, to: router)
        return router
    }

    func operationsRouter() -> Router<ProxyRequestContext> {
        let router = loggedRouter()
        addRoutes(of: .operations, to: router)
        return router
    }

    /// The routes of both listeners, for example `GET /healthz`.
    package var routes: Set<String> {
        let all = publicRouter().routes + operationsRouter().routes
        return Set(all.map { "\($0.method.rawValue) \($0.path)" })
    }

    /// Adds the routes that both listeners have. Most of them need a bearer token or a local request.
    private func addRoutes(of listener: BearerTokenMiddleware.Listener, to router: Router<ProxyRequestContext>) {
        let authorization = BearerTokenMiddleware(live: live, listener: listener)
        let monitor = listener == .public ? disconnectMonitor.public : disconnectMonitor.operations
        let clients = listener == .public ? clients : nil
        let endpoint = GatedEndpoint(
            live: live, authorization: authorization, disconnectMonitor: monitor, clients: clients, bodies: bodies)
        addHealthRoutes(to: router, authorization)
        addDocument(to: router)
        CustomerViewController(endpoint: endpoint).addRoutes(to: router)
        OperationsRoutes(endpoint: endpoint).addRoutes(to: router)
        CustomerPageController(endpoint: endpoint, logger: logger).addRoutes(to: router)
        ComparisonsController(shadow: shadow, authorization: authorization).addRoutes(to: router)
        addPages(to: router, authorization)
    }

    private func loggedRouter() -> Router<ProxyRequestContext> {
        let router = Router(context: ProxyRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: AccessLogMiddleware(counts: requests, logger: logger))
        router.add(middleware: ProblemMiddleware())
        return router
    }
}

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
