package import Forwarding
import Foundation
import Hummingbird
import HummingbirdCore
package import Ledger
import ListenerTLS
package import Logging
import NIOCore
package import Pipeline
import ServiceLifecycle
package import Shadowing
import StoreTypes
import Telemetry
package import Transport

/// Where connections are taken: what the system chose, where port 0 was asked for.
package struct ListeningPorts: Sendable, Hashable {
    package var `public`: Int
    /// Nil where that listener stays closed.
    package var operations: Int?
}

/// The HTTP door: two listeners in front of the pipelines. This is the only place that wires them.
package struct ProxyServer: Service {
    /// What answers now.
    package let live: ReloadableState
    let store: Store?
    let shadow: Shadow?
    private let forwarder: Forwarder?
    let upstream: CircuitBreakingTransport?
    let version: String
    let requests: HTTPMetrics
    /// Of the public listener, by ``HandshakeOutcome``.
    let handshakes = CounterTable("outcome", HandshakeOutcome.self)
    let state: LifecycleState
    let clients: ClientRateLimiter
    let bodies: RequestBodyBudget
    private let descriptors: FileDescriptorBudget?
    /// Of each listener.
    let disconnectMonitor = (public: ClientDisconnectMonitor(), operations: ClientDisconnectMonitor())
    private let timeouts: ConnectionTimeouts
    let logger: Logger
    private let onListening: @Sendable (ListeningPorts) async -> Void

    /// - Parameters:
    ///   - store: nil where nothing is remembered; everything is answered all the same.
    ///   - shadow: nil where nothing is compared.
    ///   - forwarder: nil where nothing is forwarded.
    ///   - upstream: whose hosts are shown; nil shows none.
    ///   - version: of the program.
    ///   - requests: go on counting where they are.
    ///   - state: told when all listeners take connections, and when the end is near.
    ///   - bodies: for the bodies of all requests; nil for the usual one.
    ///   - descriptors: of this process; nil where they are not counted.
    ///   - timeouts: of connections that make no progress.
    ///   - onListening: called once all listeners take connections.
    package init(
        settings: ProxyConfiguration, pipelines: ServiceGraph, store: Store? = nil, shadow: Shadow? = nil,
        forwarder: Forwarder? = nil, upstream: CircuitBreakingTransport? = nil, version: String,
        requests: HTTPMetrics = HTTPMetrics(),
        state: LifecycleState = LifecycleState(), bodies: RequestBodyBudget? = nil,
        descriptors: FileDescriptorBudget? = nil,
        timeouts: ConnectionTimeouts = ConnectionTimeouts(), logger: Logger,
        onListening: @escaping @Sendable (ListeningPorts) async -> Void
    ) {
        live = ReloadableState(settings: settings, pipelines: pipelines)
        self.store = store
        self.shadow = shadow
        self.forwarder = forwarder
        self.upstream = upstream
        self.version = version
        self.requests = requests
        self.state = state
        self.timeouts = timeouts
        self.logger = logger
        clients = ClientRateLimiter(logger: logger)
        self.bodies = bodies ?? RequestBodyBudget(logger: logger)
        self.descriptors = descriptors
        self.onListening = onListening
    }

    /// From the next request on these answer, and what goes on behind the answers goes by them.
    package func apply(_ settings: ProxyConfiguration, _ pipelines: ServiceGraph) {
        live.exchange(settings: settings, pipelines: pipelines)
        checkCertificate()
        checkKeys()
        shadow?.apply(settings, pipeline: pipelines.verifyReceipt)
        forwarder?.apply(settings, pipelines)
    }

    package func run() async throws {
        let settings = live.now.settings
        try check("listen", settings.listen)
        if settings.operationsListenIsExplicit { try check("operations.listen", settings.operationsListen) }
        checkCertificate()
        checkKeys()
        // Finished when the operations listener takes connections, with its port, or will not be there.
        let (operations, operationsAreSettled) = AsyncStream.makeStream(of: Int.self)
        var services: [any Service] = [publicListener(after: operations)]
        let isShared = settings.operationsListen == settings.listen && settings.listen.port != 0
        if !isShared, PortProbe.bind(settings.operationsListen) == .free {
            // Stopped after the public one: who does not get on here is not to keep that one open.
            let listener = operationsListener { port in
                operationsAreSettled.yield(port)
                operationsAreSettled.finish()
            }
            services.insert(listener, at: 0)
        } else {
            logger.warning(
                "operations address already in use; operations listener disabled",
                metadata: ["address": "\(settings.operationsListen)"])
            operationsAreSettled.finish()
        }
        // Stopped after the listeners, so that the last answers are still seen.
        if let shadow { services.insert(shadow, at: 0) }
        if let forwarder { services.insert(forwarder, at: 0) }
        if let store {
            services.append(ErasureMonitor(store: store, live: live, shadow: shadow, logger: logger))
            services.append(
                RetentionService(store: store, retention: { [live] in live.now.settings.retention }, logger: logger))
        }
        let (drained, isDrained) = AsyncStream.makeStream(of: Never.self)
        // Stopped first.
        services.append(
            DrainService(state: state, time: { [live] in live.now.settings.drainTime }, onEnd: { isDrained.finish() }))
        let group = ServiceGroup(configuration: .init(services: services, logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask { [live] in
                for await _ in drained {}
                try? await Task.sleep(for: live.now.settings.deadline + Self.timeout)
            }
            try await tasks.next()
            // Either all have ended, or it is time that they do.
            tasks.cancelAll()
        }
    }

    /// Beyond the answers that are under way when the listeners close, until who does not get on is cut off.
    private static let timeout = Duration.seconds(5)

    /// One that is not valid is presented all the same: some clients do not look.
    private func checkCertificate() {
        guard let validity = live.now.settings.tls?.validity, !validity.contains(Timestamp.now.seconds) else { return }
        logger.warning(
            "TLS certificate of the listener has expired or is not yet valid; clients will reject it",
            metadata: [
                "from": "\(Date(timeIntervalSince1970: Double(validity.lowerBound)).ISO8601Format())",
                "to": "\(Date(timeIntervalSince1970: Double(validity.upperBound)).ISO8601Format())",
            ])
    }

    /// Such an app is answered for by its other sources, and the key may come later.
    private func checkKeys() {
        for key in live.now.settings.unusableKeys {
            logger.warning(
                "private key is unusable; App Store Server API disabled for this app unless an earlier key is loaded",
                metadata: ["bundleId": "\(key.bundleId)", "keyId": "\(key.keyId)", "reason": "\(key.reason)"])
        }
    }

    /// - Throws: `ConfigurationError` where nobody can listen there, in words of who configures.
    private func check(_ key: String, _ address: ProxyConfiguration.Address) throws {
        switch PortProbe.bind(address) {
        case .free: break
        case .taken: throw ConfigurationError(["\(key): \(address) is already in use"])
        case .unusable(let reason): throw ConfigurationError(["\(key): \(address) cannot be used: \(reason)"])
        }
    }

    private func publicListener(after operations: AsyncStream<Int>) -> some Service {
        let settings = live.now.settings
        return Application(
            router: publicRouter(),
            server: server(disconnectMonitor.public, clients, settings.tls),
            configuration: configuration(
                settings.listen, atMost: descriptors?.connections ?? Int(settings.limits.connections)),
            onServerRunning: { channel in
                var ports = ListeningPorts(public: channel.localAddress?.port ?? settings.listen.port, operations: nil)
                for await port in operations { ports.operations = port }
                guard !Task.isCancelled else { return }
                state.listens()
                await onListening(ports)
            },
            logger: logger)
    }

    private func operationsListener(onListening: @escaping @Sendable (_ port: Int) -> Void) -> some Service {
        let address = live.now.settings.operationsListen
        return Application(
            router: operationsRouter(),
            server: server(disconnectMonitor.operations, nil),
            configuration: configuration(
                address, atMost: descriptors?.operations ?? FileDescriptorBudget.mostOperations),
            onServerRunning: { onListening($0.localAddress?.port ?? address.port) },
            logger: logger)
    }

    /// - Parameters:
    ///   - clients: nil where nobody is counted.
    ///   - certificate: what is presented when nothing newer was read; nil where no TLS is spoken.
    private func server(
        _ disconnectMonitor: ClientDisconnectMonitor, _ clients: ClientRateLimiter?,
        _ certificate: ListenerCertificate? = nil
    ) -> HTTPServerBuilder {
        let gate = ConnectionLimitHandler(live: live, clients: clients)
        return HTTPServerBuilder { [live, handshakes, timeouts] responder in
            let channel = HTTP1ProxyChannel(
                base: HTTP1Channel(
                    responder: responder,
                    configuration: .init(
                        httpDecoderConfiguration: .init(
                            maxHeaderFieldSize: 16_384, maxHeaderListSize: 65_536, maxHeaderFieldCount: 200))),
                disconnectMonitor: disconnectMonitor, maximumBodyBytes: VerifyReceiptController.maximumBodyBytes,
                gate: gate,
                timeouts: timeouts)
            guard let certificate else { return channel }
            return ProxyTLSChannel(
                base: channel, certificate: { live.now.settings.tls ?? certificate }, handshakes: handshakes)
        }
    }

    private func configuration(
        _ address: ProxyConfiguration.Address, atMost connections: Int
    ) -> ApplicationConfiguration {
        ApplicationConfiguration(
            address: .hostname(address.host, port: address.port), serverName: nil, backlog: 1024,
            availableConnectionsDelegate: MaximumAvailableConnections(connections))
    }
}
