import ReceiptBridgeBase
import ReceiptBridgeCore
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ServiceLifecycle
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// A proxy that forwards, with a ``ScriptedCustomer`` as its upstream.
final class ForwardingTestProxy: Sendable {
    let bridge: StoringTestProxy
    let targets = ScriptedAppStore { _ in 200 }
    private let app: AppConfiguration
    private let log: Logger

    init(
        _ forward: [ForwardTarget], appStore: ScriptedCustomer = ScriptedCustomer(), folder: TemporaryFolder? = nil,
        maximumPages: Int? = nil
    ) throws {
        log = .silent
        var app: AppConfiguration?
        bridge = try StoringTestProxy(appStore: appStore, folder: folder, maximumPages: maximumPages) {
            $0.forward = forward
            app = $0
        }
        guard let app else { throw SharedSimulator.Missing(what: "an app") }
        self.app = app
    }

    static func target(
        _ form: ForwardTarget.Form, _ path: String = "a", change: (inout ForwardTarget) -> Void = { _ in }
    ) throws -> ForwardTarget {
        var target = ForwardTarget(url: try HTTPURL("https://consumer.example/\(path)"), form: form)
        change(&target)
        return target
    }

    static func url(_ path: String = "a") -> String { "https://consumer.example/\(path)" }

    /// Runs a forwarder during `work`.
    func forwarding<Value>(
        schedule: DeliverySchedule = DeliverySchedule(), renewal: Duration = .milliseconds(5),
        _ work: () async throws -> Value
    ) async throws -> Value {
        var settings = ProxyConfiguration()
        settings.apps = [app]
        var options = Forwarder.Options()
        options.schedule = schedule
        options.poll = .milliseconds(5)
        options.renewal = renewal
        options.grace = .milliseconds(50)
        let (bridge, start) = (bridge, ContinuousClock.now)
        guard
            let forwarder = Forwarder(
                settings: settings, context: bridge.pipelines.forwarding, transport: targets, tables: .bundled,
                logger: log,
                options: options, now: { bridge.now },
                instant: { start + SharedSimulator.noon.duration(to: bridge.now) })
        else { throw SharedSimulator.Missing(what: "a target") }
        let group = ServiceGroup(configuration: .init(services: [forwarder], logger: log))
        let running = Task { try await group.run() }
        let result: Result<Value, any Error>
        do { result = .success(try await work()) } catch { result = .failure(error) }
        await group.triggerGracefulShutdown()
        try await running.value
        return try result.get()
    }

    /// Receives a notification about one transaction in its current state.
    func notify(
        _ type: String, _ subtype: String? = nil, of id: String? = nil,
        _ twist: ScriptedCustomer.Twist = ScriptedCustomer.Twist()
    ) async throws {
        try await bridge.notify(type, subtype, of: id, twist)
    }

    /// The number of deliveries in each state.
    func states() async throws -> [DeliveryState: Int] {
        try await bridge.store.deliveries().reduce(into: [:]) { $0[$1.state, default: 0] += 1 }
    }

    /// Waits until no delivery is waiting.
    func settled() async -> Bool {
        let store = bridge.store
        return await eventually { (try? await store.deliveries(in: .waiting).isEmpty) ?? false }
    }
}
