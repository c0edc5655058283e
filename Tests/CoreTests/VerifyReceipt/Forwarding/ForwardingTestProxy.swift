import ReceiptBridgeBase
import ReceiptBridgeCore
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ServiceLifecycle
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Synchronization
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// A transport for all targets. It records each request and responds as the test demands.
final class PostedBodies: HTTPTransport {
    struct Post: Sendable {
        let url: String
        let headers: HTTPHeaders
        let body: [UInt8]

        var json: JSONValue? { try? JSONValue(reading: body) }
    }

    private let posts = Mutex<[Post]>([])
    private let reply = Mutex<@Sendable (Post) async -> Int>({ _ in 200 })

    var all: [Post] { posts.withLock { $0 } }

    func to(_ url: String) -> [Post] { all.filter { $0.url == url } }

    /// Sets the response. It returns an HTTP status, or 0 for a timeout.
    func answer(_ reply: @escaping @Sendable (Post) async -> Int) { self.reply.withLock { $0 = reply } }

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let post = Post(url: request.url.text, headers: request.headers, body: request.body)
        posts.withLock { $0.append(post) }
        let reply = reply.withLock { $0 }
        let status = await reply(post)
        guard status > 0 else { throw TransportError(.timedOut, at: request.url.host, "no complete answer in time") }
        return HTTPResponse(status: status)
    }

    func shutDown(grace: Duration) async {}
}

/// A proxy that forwards, with a ``ScriptedAppStore`` as its upstream.
final class ForwardingTestProxy: Sendable {
    let bridge: StoringTestProxy
    let targets = PostedBodies()
    private let app: AppConfiguration
    private let log: Logger

    init(
        _ forward: [ForwardTarget], appStore: ScriptedAppStore = ScriptedAppStore(), folder: TemporaryFolder? = nil,
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
