import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// A verifyReceipt service whose upstream is a simulated App Store.
enum ServerAPIWorld {
    /// Runs `work` with a new simulated App Store, and shuts everything down afterwards.
    static func asking<Value>(
        customers: Int = 36, _ work: (SimulatedStore, Int, CurlTransport) async throws -> Value
    ) async throws -> Value {
        let store = try SharedSimulator.store(customers: customers)
        return try await store.serving { port, transport in try await work(store, port, transport) }
    }

    /// - Parameter port: the port of the simulated App Store.
    static func pipeline(
        _ store: SimulatedStore, port: Int, transport: any HTTPTransport, store remembering: (any Store)? = nil,
        answer: [AnswerSource],
        now: @escaping @Sendable () -> Timestamp = { SharedSimulator.noon },
        changing change: (inout AppConfiguration) -> Void = { _ in }
    ) throws -> VerifyReceiptService {
        try graph(
            store, port: port, transport: transport, store: remembering, answer: answer,
            now: now, changing: change
        ).verifyReceipt
    }

    /// All services of such a proxy, for tests that wait for its writes.
    static func graph(
        _ store: SimulatedStore, port: Int, transport: any HTTPTransport, store remembering: (any Store)? = nil,
        answer: [AnswerSource],
        now: @escaping @Sendable () -> Timestamp = { SharedSimulator.noon },
        changing change: (inout AppConfiguration) -> Void = { _ in }
    ) throws -> ServiceGraph {
        var app = AppConfiguration(of: store)
        app.appAppleId = SimulatedApp.first.appAppleId
        app.answer = answer
        change(&app)
        var settings = ProxyConfiguration(of: store, port: port)
        settings.apps = [app]
        return try ServiceGraph(
            settings: settings, transport: transport, store: remembering, tables: .bundled, logger: .silent, now: now,
            sleep: { _ in })
    }
}
