package import Logging
import ReceiptBridgeBase
package import ReceiptBridgeCore
import ReceiptBridgeStorage
import ReceiptBridgeTransport
import ServiceLifecycle
import UnixSignals

/// A server as `serve` runs it, wired from top to bottom: limits, connections to Apple, store, services, background
/// work, listeners. A reload replaces the ``ServiceGraph`` alone.
package struct ServerAssembly: Sendable {
    package let server: ProxyServer
    private let transport: CurlTransport
    private let store: (any Store)?
    private let services: @Sendable (ProxyConfiguration, _ previous: ServiceGraph?) throws -> ServiceGraph
    private let logger: Logger

    /// - Parameter onListening: Called once, when all listeners accept connections.
    /// - Throws: ``ConfigurationError``, `TransportError` if the server cannot work.
    package init(
        _ settings: ProxyConfiguration, version: String, logger: Logger,
        onListening: @escaping @Sendable (ListeningPorts) async -> Void
    ) async throws {
        self.logger = logger
        // Later, for example after a reload, a key that cannot be used is a warning only.
        try settings.checkIndispensableKeys()

        // What this process may use.
        let memory = MemoryBudget(of: settings, logger: logger)
        let descriptors = try FileDescriptorBudget(of: settings, within: memory, logger: logger)
        let bodies = RequestBodyBudget(memory.bodies, logger: logger)

        // The App Store. Deliveries use the same connections, but their hosts have no circuit breaker.
        let transport = try CurlTransport(
            settings: settings, version: version, limits: descriptors.upstream, memory: bodies)
        self.transport = transport
        let upstream = CircuitBreakingTransport(transport) { logger.note($0) }

        // The store. Without it, or until it is open, requests are answered from the other sources.
        let store = settings.store.map { address in
            StoreOpening.openRetrying(address, settings.database, recordsEvents: settings.recordsEvents) {
                logger.note(storeError: $0)
            }
        }
        self.store = store

        // The services of a configuration.
        services = { settings, previous in
            try ServiceGraph(
                settings: settings, transport: upstream, store: store, previous: previous, tables: settings.tables,
                logger: logger)
        }
        let graph = try services(settings, nil)
        await graph.whenLoaded()

        // What goes on beside requests, and the listeners.
        let shadow = Shadow(settings: settings, pipeline: graph.verifyReceipt, store: store, logger: logger)
        let forwarder = Forwarder(
            settings: settings, context: graph.forwarding, transport: transport, tables: settings.tables,
            logger: logger)
        server = try ProxyServer(
            settings: settings, pipelines: graph, store: store, shadow: shadow, forwarder: forwarder,
            upstream: upstream, version: version, bodies: bodies, descriptors: descriptors, logger: logger,
            onListening: onListening)
    }

    /// Runs the server until SIGTERM or SIGINT, and closes what it used in the reverse order: the listeners,
    /// connections to Apple, the store after its pending writes.
    ///
    /// - Parameter reloads: One element for each reload of the configuration.
    package func run<Signals: AsyncSequence & Sendable>(
        reloadingOn reloads: Signals, _ file: CalmFile,
        read: @escaping @Sendable () throws(ConfigurationError) -> ProxyConfiguration
    ) async throws where Signals.Element: Sendable {
        let reload = ConfigurationReload(
            signals: reloads, server: server, file: file, read: read, make: services, logger: logger)
        // Below this level, the package logs its whole configuration, with every object of the server.
        var serviceLogger = logger
        serviceLogger.logLevel = max(logger.logLevel, .info)
        let group = ServiceGroup(
            configuration: .init(
                services: [reload, server], gracefulShutdownSignals: [.sigterm, .sigint], logger: serviceLogger))
        let result = await Result { try await group.run() }
        await transport.shutDown()
        await server.live.now.pipelines.finishWriting()
        // Closing copies the write-ahead log into the file.
        if let failure = await store?.close() {
            logger.warning(
                "the store file is incomplete without its -wal file; copy both files",
                metadata: ["reason": "\(failure)"])
        }
        try result.get()
    }

    /// Calls `body` when the store is open; never if there is none.
    package func whenStoreOpens(_ body: @escaping @Sendable () -> Void) {
        guard let store else { return }
        if store.isOpen { return body() }
        Task { if await store.whenOpen() { body() } }
    }
}

extension ProxyServer {
    /// Services that are stopped after the listeners, the first one last: requests produce work for them.
    var servicesBehindRequests: [any Service] {
        let rollout = store.map { RolloutMonitor(store: $0, live: live, logger: logger) }
        let services: [(any Service)?] = [forwarder, rollout, shadow, history]
        return services.compactMap(\.self)
    }

    /// Services that are stopped before the listeners: what has to be done from time to time.
    var periodicServices: [any Service] {
        guard let store else { return [] }
        let services: [any Service] = [
            ErasureMonitor(store: store, live: live, shadow: shadow, logger: logger),
            RetentionService(
                store: store.personalData, leases: store.leases,
                retention: { [live] in live.now.settings.retention }, logger: logger),
            gapFiller(store),
            ReconciliationMonitor(store: store, live: live, logger: logger),
            ConsumptionMonitor(store: store, live: live, logger: logger),
            AccountTokenMonitor(store: store, logger: logger),
        ]
        return services
            + (live.now.pipelines.cluster.map {
                [ClusterMonitor(cluster: $0, store: store, live: live, logger: logger)]
            } ?? [])
    }

    /// Fetches the notifications that the store lacks: every five seconds, and a minute after an attempt that failed.
    private func gapFiller(_ store: any Store) -> PeriodicService {
        PeriodicService {
            let receiver = live.now.pipelines.notifications
            let outcome = await NotificationGapFiller(receiver: receiver, store: store, logger: logger).fill()
            return Duration.seconds(outcome == .failed ? 60 : 5).atTestSpeed()
        }
    }
}

extension Logger {
    fileprivate func note(_ host: CircuitBreakingTransport.HostState) {
        log(
            level: host.state == .closed ? .notice : .error,
            host.state == .closed
                ? "circuit breaker closed for App Store host; the host responds again"
                : "circuit breaker open for App Store host; requests are not sent until it recovers",
            metadata: [
                "host": "\(host.host)", "state": "\(host.state.rawValue)", "opened": .stringConvertible(host.opened),
            ])
    }

    /// - Parameter storeError: `nil` if the store is open.
    fileprivate func note(storeError: StorageError?) {
        guard let storeError else { return notice("store opened") }
        error("store unavailable; running without persistence, will retry", metadata: ["reason": "\(storeError)"])
    }
}
