import Hummingbird
import ReceiptBridgeCore
import ReceiptBridgeTransport

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
