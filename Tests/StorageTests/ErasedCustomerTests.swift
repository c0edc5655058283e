import ReceiptBridgeAdministration
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Customers that are erased while the App Store is asked about them")
struct ErasedCustomerTests {
    @Test(
        "They are not stored again, by a sweep or a reconciliation",
        arguments: engines, ["sweep", "reconcile"])
    func erased(on engine: StoreTestEngine, by run: String) async throws {
        let stage = try await StoreStage(engine)
        let (store, appStore) = (stage.store, try SharedSimulator.store(customers: 3))
        let port = try await appStore.start()
        let curl = try CurlTransport(CurlConfiguration(version: "test", proxy: .direct))
        var settings = ProxyConfiguration(of: appStore, port: port)
        settings.apps = [AppConfiguration(of: appStore)]
        let graph = try ServiceGraph(
            settings: settings, transport: curl, store: store, tables: .bundled, logger: .silent,
            now: { SharedSimulator.noon })
        for outcome in appStore.events.make(20, seed: 3) {
            for notification in outcome.notifications {
                _ = try? await graph.notifications.receive(appStore.body(of: notification))
            }
        }
        let stored = try await store.refunds.refundTargets(after: 0).targets.map(\.identifier)
        #expect(!stored.isEmpty)
        // A reconciliation finds other customers in the history of notifications.
        let ids = Set(
            stored
                + appStore.world.customers.flatMap(\.transactions).compactMap {
                    TransactionIdentifier(rawValue: $0.originalTransactionId)
                })
        // All customers are erased before each answer.
        let erasing = ScriptedAppStore { _ in
            for id in ids { _ = try? await store.personalData.erase(ErasureRequest(.transaction(id)), at: .now) }
            return .received(by: curl)
        }
        let clients = try ServerAPISource.batch(
            settings: settings, transport: erasing, trust: TrustStore(settings: settings), share: 1, store: store,
            now: { SharedSimulator.noon })
        if run == "sweep" {
            let folder = try TemporaryFolder()
            var checkpoint = try SweepCheckpoint(of: .sqlite(path: folder.path("bridge.sqlite")), for: "store")
            let targets = try await RefundTargets(in: store.refunds, checkpoint)
            let sweep = RefundSweep(clients: clients, store: store, limits: .init(), monitor: RunMonitor(SweepCounts()))
            #expect(try await sweep.run(targets, &checkpoint) == nil)
            withExtendedLifetime(folder) {}
        } else {
            let reconciliation = Reconciliation(
                receiver: graph.notifications, store: store, clients: clients.clients, window: 31_536_000,
                progress: RunMonitor(ReconciliationCounts(ReconciliationRow(startedAt: .now, window: 0))))
            #expect(try await reconciliation.runHoldingLease() != nil)
        }
        #expect(try await store.refunds.countRefundTargets(after: 0) == 0)
        await curl.shutDown(grace: .zero)
        await appStore.stop()
    }
}
