import Hummingbird

/// Whether the process lives, and whether it can answer.
struct HealthController: Sendable {
    func addRoutes(to router: Router<BridgeContext>) {
        router.get("/healthz") { _, _ in "ok\n" }
        router.get("/readyz") { _, _ in "ok\n" }
    }
}
