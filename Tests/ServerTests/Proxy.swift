import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import Logging
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ServiceLifecycle
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Synchronization
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// The real server on a free port, in front of a simulated App Store in the same process.
final class Proxy: Sendable {
    let store: SimulatedStore
    let port: Int
    private let openedOperationsPort: Int?
    /// Every log line as text.
    let log: LogBook
    let bodies: RequestBodyBudget
    private let group: ServiceGroup
    private let running: Task<Void, any Error>
    private let transport: CurlTransport
    private let folder: TemporaryFolder

    static let secret = SimulatedApp.first.sharedSecret

    /// What a test chooses beside the configuration.
    struct Options {
        /// Whether a circuit breaker protects upstream hosts, as in the program.
        var isGuarded = false
        /// Whether the server has a store in a temporary file. A test with a file of its own configures it.
        var hasStore = false
        var customers = 8
        /// The retry schedule of forwarding, and the timeout of one delivery.
        var schedule = DeliverySchedule()
        var delivery = Duration.seconds(30)
        /// Timeouts of connections that make no progress.
        var timeouts = ConnectionTimeouts()
        /// The memory budget of request bodies, and its clock.
        var bodies = RequestBodyBudget.Limits()
        var clock: StandingClock?
        /// The maximum number of queued comparisons, or `nil` for the program's.
        var comparisons: Int?
    }

    /// Runs the work against a new proxy, and stops it afterwards.
    static func serving<Value>(
        with options: Options = Options(),
        _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void = { _, _ in },
        _ work: (Proxy) async throws -> Value
    ) async throws -> Value {
        let store = try SharedSimulator.store(customers: options.customers)
        return try await store.serving { port in
            let proxy = try await Proxy(store, port, options, change)
            do {
                let value = try await work(proxy)
                try await proxy.stop()
                return value
            } catch {
                try? await proxy.stop()
                throw error
            }
        }
    }

    private init(
        _ store: SimulatedStore, _ upstream: Int, _ options: Options,
        _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void
    ) async throws {
        self.store = store
        folder = try TemporaryFolder()
        log = LogBook()
        let logger = log.logger
        bodies = RequestBodyBudget(
            options.bodies, logger: logger, now: options.clock?.time ?? RequestBodyBudget.uptime())
        var settings = ProxyConfiguration(of: store, port: upstream)
        settings.listen.port = 0
        settings.operationsListen.port = 0
        settings.operationsListenIsExplicit = true
        if options.hasStore { settings.store = .sqlite(path: folder.path("bridge.sqlite")) }
        var app = AppConfiguration(of: store)
        change(&settings, &app)
        settings.apps = [app] + settings.apps
        var configuration = CurlConfiguration(version: "test", proxy: .direct)
        configuration.memory = bodies
        transport = try CurlTransport(configuration)
        let guarded = options.isGuarded ? CircuitBreakingTransport(transport) : nil
        // As in the program, requests are served even if the store is unavailable.
        let bridgeStore = settings.store?.path.flatMap { try? SQLiteStore(path: $0) }
        let pipelines = try ServiceGraph(
            settings: settings, transport: guarded ?? transport, store: bridgeStore, tables: .bundled, logger: logger,
            now: { SharedSimulator.noon })
        await pipelines.whenLoaded()
        let shadow = Shadow(
            settings: settings, pipeline: pipelines.verifyReceipt, store: bridgeStore, logger: logger,
            queueCapacity: options.comparisons, repeatDelay: .milliseconds(100), now: { SharedSimulator.noon })
        var forwarding = Forwarder.Options()
        forwarding.timeout = options.delivery
        forwarding.poll = .milliseconds(50)
        forwarding.grace = .milliseconds(100)
        forwarding.schedule = options.schedule
        let forwarder = Forwarder(
            settings: settings, context: pipelines.forwarding, transport: transport, tables: .bundled, logger: logger,
            options: forwarding, now: { SharedSimulator.noon })
        let (ports, bound) = AsyncStream.makeStream(of: ListeningPorts.self)
        let server = try ProxyServer(
            settings: settings, pipelines: pipelines, store: bridgeStore, shadow: shadow, forwarder: forwarder,
            upstream: guarded, version: "1.2.3", bodies: bodies, timeouts: options.timeouts, logger: logger
        ) {
            bound.yield($0)
        }
        let group = ServiceGroup(configuration: .init(services: [server], logger: logger))
        self.group = group
        running = Task {
            defer { bound.finish() }
            try await group.run()
        }
        guard let listening = await ports.first(where: { _ in true }) else {
            await transport.shutDown()
            try await running.value
            throw RawConnection.Failure(description: "the server ended before it listened")
        }
        (port, openedOperationsPort) = (listening.public, listening.operations)
    }

    /// Starts a graceful shutdown, as SIGTERM does.
    func beginStop() async { await group.triggerGracefulShutdown() }

    /// Ends all services at once, without waiting for the end of draining.
    func cancel() { running.cancel() }

    /// Returns when all services have ended.
    func stop() async throws {
        await group.triggerGracefulShutdown()
        do {
            try await running.value
        } catch is CancellationError where running.isCancelled {}
        await transport.shutDown()
    }

    /// The port of the operations listener. It does not exist if the default address is in use.
    var operationsPort: Int {
        get throws {
            guard let openedOperationsPort else { throw SharedSimulator.Missing(what: "the operations listener") }
            return openedOperationsPort
        }
    }

    func connect() throws -> RawConnection { try RawConnection(port: port) }

    /// Sends one request on a new connection.
    func send(_ bytes: [UInt8]) async throws -> RawConnection.Answer { try await RawConnection.send(bytes, to: port) }

    func send(_ text: String) async throws -> RawConnection.Answer { try await send(Array(text.utf8)) }

    /// Posts a body to verifyReceipt, by default the one that an app would post.
    func verify(_ body: [UInt8]? = nil, _ headers: [String] = []) async throws -> RawConnection.Answer {
        try await send(RawConnection.post("/verifyReceipt", body ?? question(), ["Host: a"] + headers))
    }

    /// Returns the body that an app would post.
    func question(_ kind: CustomerKind = .activeSubscription, _ environment: AppStoreEnvironment = .production)
        throws -> [UInt8]
    {
        try store.receipt(kind, environment).question
    }

    func notify(_ body: [UInt8], _ headers: [String] = []) async throws -> RawConnection.Answer {
        try await send(RawConnection.post("/v1/notifications", body, ["Host: a"] + headers))
    }

    /// Sends a `GET` on a new connection.
    func get(_ path: String, from port: Int, _ headers: [String] = []) async throws -> RawConnection.Answer {
        try await RawConnection.send(RawConnection.request("GET", path, ["Host: localhost"] + headers), to: port)
    }

    func operations(_ path: String, _ headers: [String] = []) async throws -> RawConnection.Answer {
        try await get(path, from: operationsPort, headers)
    }
}

/// A clock that stands still unless it is moved.
final class StandingClock: Sendable {
    private let now = Mutex(Duration.zero)
    var time: @Sendable () -> Duration { { self.now.withLock { $0 } } }
    func move(by duration: Duration) { now.withLock { $0 += duration } }
}

/// Collects log lines in the form in which they would be written.
final class LogBook: Sendable {
    private let lines = Recorded<String>()

    var all: [String] { lines.all }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(book: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let book: LogBook
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        var metadataProvider: Logger.MetadataProvider? = .request

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(metadataProvider?.get() ?? [:], uniquingKeysWith: { $1 })
                .merging(event.metadata ?? [:], uniquingKeysWith: { $1 })
            let error = event.error.map { " \($0)" } ?? ""
            book.lines.add("\(event.level) \(event.message) \(all)\(error)")
        }
    }
}
