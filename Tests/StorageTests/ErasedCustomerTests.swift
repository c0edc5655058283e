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

    @Test("An erasure wins over saves of a lookup and of a refund that run at the same time", arguments: engines)
    func race(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (store, other, scope) = (stage.store, try await stage.second(), stage.scope)
        for id in 1_000..<TestSize.pick(debug: 1_010, release: 1_200) {
            let identifier = try #require(TransactionIdentifier(rawValue: "\(id)"))
            let transaction = TransactionRow("\(id)", at: 2, revoked: 2)
            let row = CustomerRow([transaction], at: 2)
            let refund = RefundRow(transaction: transaction, date: Timestamp(milliseconds: 2))
            try await stage.save(row)
            @Sendable func save() async throws -> Bool {
                let differs = try await store.customers.save(row, of: scope, source: .reconcile, ifRecorded: identifier)
                let unknown = try await store.refunds.save([refund], in: scope, at: .now, ifRecorded: identifier)
                return differs != nil || unknown != nil
            }
            let erasing = Task {
                try await other.personalData.erase(ErasureRequest(.transaction(identifier)), at: .now)
            }
            let saving = Task { while try await save() {} }
            #expect(try await !erasing.value.isEmpty)
            try await saving.value
            #expect(try await !save())
            #expect(try await store.customers.transaction(identifier, in: scope) == nil)
        }
        await other.close()
        await store.close()
    }
}
