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

    static let secret = SimulatedApp.first.sharedSecret

    private init(
        store: SimulatedStore, port: Int, operationsPort: Int?, log: LogBook, bodies: RequestBodyBudget,
        group: ServiceGroup,
        running: Task<Void, any Error>, transport: CurlTransport
    ) {
        self.store = store
        self.port = port
        openedOperationsPort = operationsPort
        self.log = log
        self.bodies = bodies
        self.group = group
        self.running = running
        self.transport = transport
    }

    /// Runs the work against a new proxy, and stops it afterwards.
    ///
    /// - Parameters:
    ///   - isGuarded: Whether a circuit breaker protects upstream hosts, as in the program.
    ///   - schedule: The retry schedule of forwarding.
    ///   - bodies: The memory budget of request bodies; `clock` is its clock.
    ///   - timeouts: Timeouts of connections that make no progress.
    ///   - delivery: Timeout of one delivery of a notification.
    ///   - comparisons: The maximum number of queued comparisons, or `nil` for the program's.
    static func serving<Value>(
        isGuarded: Bool = false, schedule: DeliverySchedule = DeliverySchedule(),
        timeouts: ConnectionTimeouts = ConnectionTimeouts(), customers: Int = 8,
        bodies: RequestBodyBudget.Limits = .init(), clock: StandingClock? = nil, delivery: Duration = .seconds(30),
        comparisons: Int? = nil,
        _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void = { _, _ in },
        _ work: (Proxy) async throws -> Value
    ) async throws -> Value {
        let store = try SimulatedStore(
            seed: 7, customers: customers, clock: .fixed(SharedSimulator.noon), pki: try SharedSimulator.pki)
        let log = LogBook()
        let allowance = RequestBodyBudget(bodies, logger: log.logger, now: clock?.time ?? RequestBodyBudget.uptime())
        let proxy = try await start(store, isGuarded, schedule, timeouts, log, allowance, delivery, comparisons, change)
        do {
            let value = try await work(proxy)
            try await proxy.stop()
            await store.stop()
            return value
        } catch {
            try? await proxy.stop()
            await store.stop()
            throw error
        }
    }

    private static func start(
        _ store: SimulatedStore, _ isGuarded: Bool, _ schedule: DeliverySchedule, _ timeouts: ConnectionTimeouts,
        _ log: LogBook, _ bodies: RequestBodyBudget, _ delivery: Duration,
        _ comparisons: Int?,
        _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void
    ) async throws -> Proxy {
        let upstream = try await store.start()
        var settings = ProxyConfiguration(of: store, port: upstream)
        settings.listen.port = 0
        settings.operationsListen.port = 0
        settings.operationsListenIsExplicit = true
        var app = AppConfiguration(of: store)
        change(&settings, &app)
        settings.apps = [app] + settings.apps
        let logger = log.logger
        var configuration = CurlConfiguration(version: "test", proxy: .direct)
        configuration.memory = bodies
        let transport = try CurlTransport(configuration)
        let guarded = isGuarded ? CircuitBreakingTransport(transport) : nil
        // As in the program, requests are served even if the store is unavailable.
        let bridgeStore = settings.store?.path.flatMap { try? SQLiteStore(path: $0) }
        let pipelines = try ServiceGraph(
            settings: settings, transport: guarded ?? transport, store: bridgeStore, tables: .bundled, logger: logger,
            now: { SharedSimulator.noon })
        await pipelines.whenLoaded()
        let shadow = Shadow(
            settings: settings, pipeline: pipelines.verifyReceipt, store: bridgeStore,
            logger: logger, queueCapacity: comparisons, repeatDelay: .milliseconds(100), now: { SharedSimulator.noon })
        var options = Forwarder.Options()
        options.timeout = delivery
        options.poll = .milliseconds(50)
        options.grace = .milliseconds(100)
        options.schedule = schedule
        let forwarder = Forwarder(
            settings: settings, context: pipelines.forwarding, transport: transport, tables: .bundled, logger: logger,
            options: options, now: { SharedSimulator.noon })
        let (ports, bound) = AsyncStream.makeStream(of: ListeningPorts.self)
        let server = try ProxyServer(
            settings: settings, pipelines: pipelines, store: bridgeStore, shadow: shadow, forwarder: forwarder,
            upstream: guarded, version: "1.2.3", bodies: bodies, timeouts: timeouts, logger: logger
        ) {
            bound.yield($0)
        }
        let group = ServiceGroup(configuration: .init(services: [server], logger: logger))
        let running = Task {
            defer { bound.finish() }
            try await group.run()
        }
        for await ports in ports {
            return Proxy(
                store: store, port: ports.public, operationsPort: ports.operations, log: log, bodies: bodies,
                group: group, running: running, transport: transport)
        }
        await transport.shutDown()
        try await running.value
        throw RawConnection.Failure(description: "the server ended before it listened")
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
    func send(_ bytes: [UInt8]) async throws -> RawConnection.Answer? {
        let connection = try connect()
        try await connection.send(bytes)
        return try await connection.answer()
    }

    func send(_ text: String) async throws -> RawConnection.Answer? { try await send(Array(text.utf8)) }

    /// Returns the body that an app would post.
    func question(_ kind: CustomerKind = .activeSubscription, _ environment: AppStoreEnvironment = .production)
        throws -> [UInt8]
    {
        guard
            let receipt = store.receipts.first(where: {
                $0.customer.kind == kind && $0.environment == environment
            })
        else { throw SharedSimulator.Missing(what: "\(kind)") }
        return Question.body(receipt.base64, password: Self.secret)
    }

    /// Returns a purchase of this kind in production that is not shared.
    func purchase(_ kind: SimulatedProduct.Kind = .autoRenewable) throws -> SimulatedTransaction {
        let purchases = store.world.customers.filter { $0.environment == .production }.flatMap(\.transactions)
        guard let purchase = purchases.first(where: { $0.product.kind == kind && !$0.isFamilyShared }) else {
            throw SharedSimulator.Missing(what: "a purchase of \(kind)")
        }
        return purchase
    }

    /// Returns the body of a notification about a purchase.
    func notification(
        _ type: String, _ uuid: String, about transaction: SimulatedTransaction, hoursAgo: Int64 = 0
    ) throws -> [UInt8] {
        let signer = store.pki.jwsSigner
        let date = SharedSimulator.noon.milliseconds - hoursAgo * 3_600_000
        let payload = JSONValue.object([
            "notificationType": .string(type), "notificationUUID": .string(uuid), "version": .string("2.0"),
            "signedDate": .number(date),
            "data": .object([
                "bundleId": .string(SimulatedApp.first.bundleId), "environment": .string("Production"),
                "signedTransactionInfo": .string(
                    try signer.jws(payload: transaction.row(.production, signedDate: Timestamp(milliseconds: date)))),
            ]),
        ])
        return JSONValue.object(["signedPayload": .string(try signer.jws(payload: payload))]).bytes
    }
}

/// A clock that stands still unless it is moved.
final class StandingClock: Sendable {
    private let now = Mutex(Duration.zero)
    var time: @Sendable () -> Duration { { self.now.withLock { $0 } } }
    func move(by duration: Duration) { now.withLock { $0 += duration } }
}

/// Occupies a port.
final class TakenPort {
    let port: Int
    private let descriptor: Int32

    init() throws {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 1) == 0
                    ? getsockname(descriptor, $0, &length) : -1
            }
        }
        guard result == 0 else { throw RawConnection.Failure(description: "bind: \(errno)") }
        self.descriptor = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
}

/// Collects log lines in the form in which they would be written.
final class LogBook: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

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
            book.lines.withLock { $0.append("\(event.level) \(event.message) \(all)\(error)") }
        }
    }
}
