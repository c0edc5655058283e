import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport
import Testing

/// Services whose upstream is a simulated App Store.
struct ServerAPIWorld {
    let appStore: SimulatedStore
    /// The port of the simulated App Store.
    var port = 9
    let transport: any HTTPTransport

    /// Runs `work` with a new simulated App Store, and shuts everything down afterwards.
    static func asking<Value>(
        seed: UInt64 = 7, customers: Int = 36, options: WorldOptions = WorldOptions(),
        _ work: (SimulatedStore, ServerAPIWorld) async throws -> Value
    ) async throws -> Value {
        let store = try SimulatedStore(
            seed: seed, customers: customers, clock: .fixed(SharedSimulator.noon), pki: try SharedSimulator.pki,
            options: options)
        return try await store.serving { port, transport in
            try await work(store, ServerAPIWorld(appStore: store, port: port, transport: transport))
        }
    }

    func pipeline(
        _ answer: [AnswerSource], store: (any Store)? = nil,
        clock: MovableClock = MovableClock(),
        changing change: (inout AppConfiguration) -> Void = { _ in }
    ) throws -> VerifyReceiptService {
        try graph(answer, store: store, clock: clock) { change(&$1) }.verifyReceipt
    }

    /// All services of a proxy, for example for tests that wait for its writes.
    func graph(
        _ answer: [AnswerSource]? = nil, store: (any Store)? = nil,
        clock: MovableClock = MovableClock(),
        changing change: (inout ProxyConfiguration, inout AppConfiguration) -> Void = { _, _ in }
    ) throws -> ServiceGraph {
        var app = AppConfiguration(of: appStore)
        app.appAppleId = SimulatedApp.first.appAppleId
        if let answer { app.answer = answer }
        var settings = ProxyConfiguration(of: appStore, port: port)
        change(&settings, &app)
        settings.apps.insert(app, at: 0)
        return try ServiceGraph(
            settings: settings, transport: transport, store: store, tables: .bundled, logger: .silent,
            now: { clock.now },
            sleep: { _ in })
    }
}

extension SimulatedStore {
    func customer(_ kind: CustomerKind, _ environment: AppStoreEnvironment = .production) throws -> SimulatedCustomer {
        try #require(world.customers.first { $0.kind == kind && $0.environment == environment })
    }

    /// The first receipt of such a customer.
    func receipt(_ kind: CustomerKind, _ environment: AppStoreEnvironment = .production) throws -> IssuedReceipt {
        try #require(receipts(of: try customer(kind, environment)).first)
    }
}
