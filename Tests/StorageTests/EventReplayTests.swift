import ReceiptBridgeAdministration
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// The events of a store against its customers, after a long series of simulated events.
@Suite("Replay of events")
struct EventReplayTests {
    /// Number of simulated events, and of customers.
    private static let size: (events: Int, customers: Int) = {
        let events =
            ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_TEST_EVENTS"].flatMap { Int($0) }
            ?? TestSize.pick(debug: 120, release: 400)
        return (events, min(max(events / 10, 40), 400))
    }()
    private static let seed: UInt64 = 11

    private static let scopes: [AppScope] =
        BundleIdentifier(rawValue: SimulatedApp.first.bundleId).map { bundleId in
            [.production, .sandbox].map { AppScope(bundleId: bundleId, environment: $0) }
        } ?? []

    @Test(
        "The events, replayed into an empty view, give the customers of the store",
        // RECEIPT_BRIDGE_TEST_EVENTS=10000 needs several minutes in a debug build.
        .timeLimit(.minutes(30)), arguments: engines)
    func replay(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let appStore = try SharedSimulator.store(customers: Self.size.customers)
        try await appStore.serving { try await change(stage.store, appStore, $0, $1) }
        try await compare(stage.store, appStore)
    }

    /// Passes simulated events to the receiver of a server, some of them lost, doubled or late, and looks customers up
    /// in between.
    private func change(
        _ store: any Store, _ appStore: SimulatedStore, _ port: Int, _ transport: CurlTransport
    ) async throws {
        var app = AppConfiguration(of: appStore)
        app.appAppleId = SimulatedApp.first.appAppleId
        var settings = ProxyConfiguration(of: appStore, port: port)
        settings.apps = [app]
        let now = SharedSimulator.noon
        let graph = try ServiceGraph(
            settings: settings, transport: transport, store: store, tables: .bundled, logger: .silent, now: { now },
            sleep: { _ in })
        var random = SplitMix64(seed: Self.seed)
        func share(_ percent: UInt64) -> Bool { random.next() % 100 < percent }
        var late: [SimulatedNotification] = []
        var erased = 0
        let rounds = 20
        for round in 1...rounds {
            let outcomes = appStore.events.make(Self.size.events / rounds, seed: Self.seed &+ UInt64(round))
            var notifications = late
            late = []
            for notification in outcomes.flatMap(\.notifications) where !share(5) {
                if share(20) { late.append(notification) } else { notifications.append(notification) }
                if share(5) { notifications.append(notification) }
            }
            for notification in notifications {
                do {
                    try await graph.notifications.receive(appStore.body(of: notification))
                } catch let error as NotificationRejection where error.code == .signedInFuture {
                    // Many events for one customer are dated in the future of the simulated clock.
                }
            }
            // Lookups, revocations of verifyReceipt, and an erasure.
            let changed = outcomes.compactMap(\.after?.transactions.first?.transactionId)
            for id in changed.prefix(max(changed.count / 10, 3)) {
                _ = try? await graph.customerView.view(transactionId: id, bundleId: nil)
            }
            await graph.finishWriting()
            if let id = changed.last {
                try await store.revocations.save(
                    revoked: [
                        RevocationRow(id, at: SharedSimulator.noon.milliseconds)
                    ], valid: Array(changed.prefix(1)), askedAt: .now, of: Self.scopes[0])
            }
            if round % 8 == 0, let id = changed.first.flatMap(TransactionIdentifier.init(rawValue:)) {
                let erasure = try await store.personalData.erase(ErasureRequest(.transaction(id)), at: .now)
                erased += erasure.isEmpty ? 0 : 1
            }
        }
        #expect(erased > 0)
        let clients = try ServerAPISource.batch(
            settings: settings, transport: transport, trust: TrustStore(settings: settings), share: 1, store: store)
        let folder = try TemporaryFolder()
        var checkpoint = try SweepCheckpoint(of: .sqlite(path: folder.path("bridge.sqlite")), for: "store")
        let targets = try await RefundTargets(in: store.refunds, checkpoint)
        let monitor = RunMonitor(SweepCounts())
        _ = try await RefundSweep(clients: clients, store: store, limits: .init(), monitor: monitor).run(
            targets, &checkpoint)
        var cursor = try EventCursor(in: checkpoint.ledger)
        var lines = 0
        var output = try cursor.open(nil) { lines += $0.count { $0 == 0x0A } }
        let printed = try await RefundSweep.print(from: store, since: nil, after: &cursor, to: &output, at: nil)
        #expect(printed > 0 && lines == printed)
    }

    private func compare(_ store: any Store, _ appStore: SimulatedStore) async throws {
        var replay = EventReplay()
        var types: [String: Int] = [:]
        var failure: (any Error)?
        for event in try await store.events.events(after: 0, upTo: .max, limit: .max) {
            types[event.type, default: 0] += 1
            do { try replay.apply(event) } catch { failure = error }
        }
        #expect(failure == nil)
        var (customers, transactions) = (0, 0)
        for scope in Self.scopes {
            for (key, customer) in replay.customers(in: scope) {
                let originals = Set(customer.subscriptions.keys).union([key]).sorted()
                let keys = CustomerIdentifiers([], customer.transactions.keys.sorted())
                if let stored = try await store.customers.customer(of: keys, in: scope) {
                    customers += 1
                    #expect(try EventReplay.Customer(stored) == customer, "\(originals)")
                } else {
                    // Known from notifications only.
                    #expect(!customer.transactions.isEmpty || !customer.subscriptions.isEmpty)
                }
            }
            let replayed = replay.transactions(in: scope)
            for transaction in appStore.receipts.flatMap(\.customer.transactions).map(\.transactionId) + replayed.keys {
                guard let id = TransactionIdentifier(rawValue: transaction) else { continue }
                let stored = try await store.customers.transaction(id, in: scope)
                #expect(try stored.map { try EventReplay.record($0) } == replayed[transaction], "\(transaction)")
                if stored != nil { transactions += 1 }
            }
        }
        print(
            "seed \(Self.seed): \(replay.count) events \(types.sorted { $0.key < $1.key }), \(customers) customers, "
                + "\(transactions) comparisons of transactions, \(replay.erased.count) erased keys")
        // Otherwise the test would prove nothing.
        #expect(customers > Self.size.customers / 10 && replay.count > Self.size.events / 2)
        #expect(Set(types.keys).isSuperset(of: ["notification", "lookup", "revocation", "erasure"]))
    }
}
