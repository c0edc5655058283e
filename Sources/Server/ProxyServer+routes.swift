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
        HealthController(health: health, authorization: authorization(.public)).addRoutes(to: router)
        OpenAPIController().addRoutes(to: router)
        addGatedRoutes(of: .public, to: router)
        return router
    }

    func operationsRouter() -> Router<ProxyRequestContext> {
        let router = loggedRouter()
        HealthController(health: health, authorization: authorization(.operations)).addRoutes(to: router)
        OpenAPIController().addRoutes(to: router)
        addGatedRoutes(of: .operations, to: router)
        return router
    }

    /// The routes of both listeners, for example `GET /healthz`.
    package var routes: Set<String> {
        let all = publicRouter().routes + operationsRouter().routes
        return Set(all.map { "\($0.method.rawValue) \($0.path)" })
    }

    /// Adds the routes that need a bearer token or a local request.
    private func addGatedRoutes(of listener: BearerTokenMiddleware.Listener, to router: Router<ProxyRequestContext>) {
        let authorization = authorization(listener)
        let monitor = listener == .public ? disconnectMonitor.public : disconnectMonitor.operations
        let clients = listener == .public ? clients : nil
        let endpoint = GatedEndpoint(
            live: live, authorization: authorization, disconnectMonitor: monitor, clients: clients, bodies: bodies)
        CustomerViewController(endpoint: endpoint).addRoutes(to: router)
        OperationsRoutes(endpoint: endpoint).addRoutes(to: router)
        CustomerPageController(endpoint: endpoint, logger: logger).addRoutes(to: router)
        ComparisonsController(shadow: shadow, authorization: authorization).addRoutes(to: router)
        MetricsController(metrics: MetricsExporter(health: health), authorization: authorization).addRoutes(to: router)
        StatusController(health: health, authorization: authorization).addRoutes(to: router)
    }

    private func loggedRouter() -> Router<ProxyRequestContext> {
        let router = Router(context: ProxyRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: AccessLogMiddleware(counts: requests, logger: logger))
        router.add(middleware: ProblemMiddleware())
        return router
    }

    private func authorization(_ listener: BearerTokenMiddleware.Listener) -> BearerTokenMiddleware {
        BearerTokenMiddleware(live: live, listener: listener)
    }

    private var health: ServerHealth {
        ServerHealth(
            version: version, live: live, requests: requests, handshakes: handshakes, rejections: clients.rejections,
            keyChecks: keyChecks, waiting: waiting, store: store, shadow: shadow, state: state,
            history: history,
            connections: { [disconnectMonitor] in (disconnectMonitor.public.count, disconnectMonitor.operations.count)
            },
            hosts: { [upstream] in upstream?.states ?? [] },
            deliveryLimits: { [forwarder] in forwarder?.limits ?? [] })
    }
}
