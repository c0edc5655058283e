import Ledger
import Pipeline
import Rendering
import Simulator
import StoreTypes
import TestSupport
import Transport

/// A walk whose App Store is a simulated one.
enum ServerAPIWorld {
    /// Runs the work in front of a new simulated App Store, and ends all that it needed.
    static func asking<Value>(
        customers: Int = 36, _ work: (SimulatedStore, Int, CurlTransport) async throws -> Value
    ) async throws -> Value {
        let store = try SharedSimulator.store(customers: customers)
        let port = try await store.start()
        let transport = try CurlTransport(CurlConfiguration(version: "test", proxy: .direct))
        let result: Result<Value, any Error>
        do { result = .success(try await work(store, port, transport)) } catch { result = .failure(error) }
        await transport.shutDown()
        await store.stop()
        return try result.get()
    }

    /// - Parameter port: where the simulated App Store listens.
    static func pipeline(
        _ store: SimulatedStore, port: Int, transport: any HTTPTransport, store remembering: Store? = nil,
        answer: [AnswerSource],
        now: @escaping @Sendable () -> Timestamp = { SharedSimulator.noon },
        changing change: (inout AppConfiguration) -> Void = { _ in }
    ) throws -> VerifyReceiptService {
        var app = AppConfiguration(of: store)
        app.appAppleId = SimulatedApp.first.appAppleId
        app.answer = answer
        change(&app)
        var settings = ProxyConfiguration(of: store, port: port)
        settings.apps = [app]
        return try ServiceGraph(
            settings: settings, transport: transport, store: remembering, tables: .bundled, logger: .silent, now: now,
            sleep: { _ in }
        ).verifyReceipt
    }
}
