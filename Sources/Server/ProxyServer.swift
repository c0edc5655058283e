import ReceiptBridgeBase
package import ReceiptBridgeCore
import Foundation
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
package import ReceiptBridgeStorage
package import ReceiptBridgeTransport

/// The ports that the server listens on. If port 0 was configured, this is the port that the system chose.
package struct ListeningPorts: Sendable, Hashable {
    package var `public`: Int
    package var operations: Int?
}

/// A listener that the server does without if its address is in use or is not one of this machine. Only binding shows
/// that: after a probe, another server that starts at the same time may take the address.
private struct OptionalListener: Service {
    let listener: any Service
    let onAddressInUse: @Sendable () -> Void

    func run() async throws {
        do {
            try await listener.run()
        } catch let error as IOError where [EADDRINUSE, EADDRNOTAVAIL].contains(error.errnoCode) {
            onAddressInUse()
            // The end of a service would end the others.
            try? await gracefulShutdown()
        }
    }
}

/// The HTTP server: a public listener and an operations listener in front of the services.
package struct ProxyServer: Service {
    package let live: ReloadableState
    let store: (any Store)?
    let shadow: Shadow?
    let forwarder: Forwarder?
    let upstream: CircuitBreakingTransport?
    let version: String
    let requests: HTTPMetrics
    /// TLS handshakes of the public listener, by ``HandshakeOutcome``.
    let handshakes = CounterTable(HandshakeOutcome.texts)
    let state: LifecycleState
    let clients: ClientRateLimiter
    let bodies: RequestBodyBudget
    private let descriptors: FileDescriptorBudget?
    let keyChecks = KeyChecks()
    let waiting = CustomersToLookUp()
    let history: TrafficHistory
    let disconnectMonitor = (public: ClientDisconnectMonitor(), operations: ClientDisconnectMonitor())
    private let timeouts: ConnectionTimeouts
    let logger: Logger
    private let onListening: @Sendable (ListeningPorts) async -> Void

    /// - Parameters:
    ///   - store: `nil` if the server runs without persistence.
    ///   - requests: HTTP counters. They continue from the values that they have.
    ///   - state: Set to ready when all listeners accept connections, and to draining when shutdown begins.
    ///   - onListening: Called once, when all listeners accept connections.
    /// - Throws: `ConfigurationError` if the certificate of `tls` cannot be used.
    package init(
        settings: ProxyConfiguration, graph: ServiceGraph, store: (any Store)? = nil, shadow: Shadow? = nil,
        forwarder: Forwarder? = nil, upstream: CircuitBreakingTransport? = nil, version: String,
        requests: HTTPMetrics = HTTPMetrics(),
        state: LifecycleState = LifecycleState(), bodies: RequestBodyBudget? = nil,
        descriptors: FileDescriptorBudget? = nil,
        timeouts: ConnectionTimeouts = ConnectionTimeouts(), logger: Logger,
        onListening: @escaping @Sendable (ListeningPorts) async -> Void
    ) throws(ConfigurationError) {
        live = try ReloadableState(settings: settings, graph: graph)
        (self.store, self.shadow, self.forwarder, self.upstream) = (store, shadow, forwarder, upstream)
        (self.version, self.requests, self.state) = (version, requests, state)
        history = TrafficHistory { [live] in
            TrafficSample(of: live.now.graph, age: .now - state.startedAt)
        }
        self.timeouts = timeouts
        self.logger = logger
        clients = ClientRateLimiter(logger: logger)
        self.bodies = bodies ?? RequestBodyBudget(logger: logger)
        self.descriptors = descriptors
        self.onListening = onListening
    }

    /// Takes effect with the next request, for responses as well as for background work.
    ///
    /// - Throws: `ConfigurationError` if the certificate of `tls` cannot be used. Then nothing is applied.
    package func apply(_ settings: ProxyConfiguration, _ graph: ServiceGraph) throws(ConfigurationError) {
        try live.exchange(settings: settings, graph: graph)
        checkCertificate()
        checkKeys()
        shadow?.apply(settings, service: graph.verifyReceipt)
        if let forwarding = graph.forwarding { forwarder?.apply(settings, forwarding) }
    }

    /// - Throws: `ConfigurationError` if a configured address cannot be listened on.
    package func run() async throws {
        let settings = live.now.settings
        try check("listen", settings.listen)
        if settings.operationsListenIsExplicit { try check("operations.listen", settings.operationsListen) }
        checkCertificate()
        checkKeys()
        // Finishes when the operations listener accepts connections (after yielding its port) or is known to be
        // disabled.
        let (operations, operationsContinuation) = AsyncStream.makeStream(of: Int.self)
        var services: [any Service] = [publicListener(after: operations)]
        @Sendable func disableOperations() {
            logger.warning(
                "operations address already in use; operations listener disabled",
                metadata: ["address": "\(settings.operationsListen)"])
            operationsContinuation.finish()
        }
        if settings.operationsListen == settings.listen, settings.listen.port != 0 {
            disableOperations()
        } else {
            // Services stop one after the other, in reverse order. The operations listener stops after the public
            // one, so that a stuck connection of an operator does not keep the public listener open.
            let listener = operationsListener { port in
                operationsContinuation.yield(port)
                operationsContinuation.finish()
            }
            services.insert(
                settings.operationsListenIsExplicit
                    ? listener : OptionalListener(listener: listener, onAddressInUse: disableOperations), at: 0)
        }
        services = servicesBehindRequests + services + periodicServices
        let (drained, drainedContinuation) = AsyncStream.makeStream(of: Never.self)
        // The last service is stopped first.
        services.append(
            DrainService(
                state: state, time: { [live] in live.now.settings.drainTime }, onEnd: { drainedContinuation.finish() }))
        let group = ServiceGroup(configuration: .init(services: services, logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask { [live] in
                for await _ in drained {}
                try? await Task.sleep(for: live.now.settings.deadline + Self.timeout)
            }
            try await tasks.next()
            // Either all services have ended, or the shutdown deadline has passed.
            tasks.cancelAll()
        }
    }

    /// Time that open requests get after the listeners have closed, in addition to the request deadline. After that
    /// they are cut off.
    private static let timeout = Duration.seconds(5).atTestSpeed(atLeast: .seconds(1))

    /// Warns if the listener's certificate has expired or is not yet valid. It is used all the same, because some
    /// clients do not check.
    private func checkCertificate() {
        guard let validity = live.now.certificate?.validity, !validity.contains(Timestamp.now.seconds) else { return }
        logger.warning(
            "TLS certificate of the listener has expired or is not yet valid; clients will reject it",
            metadata: [
                "from": "\(Timestamp(seconds: validity.lowerBound).iso8601)",
                "to": "\(Timestamp(seconds: validity.upperBound).iso8601)",
            ])
    }

    /// An app whose key cannot sign is served from its other sources, and a reload may bring a usable key.
    private func checkKeys() {
        for key in keyChecks.check(live.now.settings) {
            logger.warning(
                "private key is unusable; App Store Server API disabled for this app unless an earlier key is loaded",
                metadata: ["bundleId": "\(key.bundleId)", "keyId": "\(key.keyId)", "reason": "\(key.reason)"])
        }
    }

    /// Checks that this process can listen on the address, which the configuration key `key` names.
    ///
    /// - Throws: `ConfigurationError` if the address is in use or cannot be used.
    private func check(_ key: String, _ address: ProxyConfiguration.Address) throws {
        switch PortProbe.bind(host: address.host, port: address.port) {
        case .free: break
        case .inUse: throw ConfigurationError(["\(key): \(address) is already in use"])
        case .unusable(let reason): throw ConfigurationError(["\(key): \(address) cannot be used: \(reason)"])
        }
    }

    /// Returns the public listener. It reports that the server listens once the operations listener is ready, too.
    private func publicListener(after operations: AsyncStream<Int>) -> some Service {
        let (settings, certificate) = (live.now.settings, live.now.certificate)
        let limit = descriptors?.connections ?? Int(settings.limits.connections)
        let (start, logThrottle) = (ContinuousClock.now, LogThrottle<String>())
        let connections = ListenerConnections(.public(limit: limit)) { [logger] in
            guard logThrottle.allows("full", at: start.duration(to: .now)) else { return }
            logger.warning(
                "all connections are in use; closing those that have been without a request for the longest time",
                metadata: ["connections": .stringConvertible(limit)])
        }
        return Application(
            router: publicRouter(),
            server: server(disconnectMonitor.public, connections, clients, certificate),
            configuration: configuration(settings.listen, atMost: limit),
            onServerRunning: { channel in
                var ports = ListeningPorts(public: channel.localAddress?.port ?? settings.listen.port, operations: nil)
                for await port in operations { ports.operations = port }
                guard !Task.isCancelled else { return }
                state.setReady()
                await onListening(ports)
            },
            logger: logger)
    }

    /// - Parameter onListening: Called with the port when the listener accepts connections.
    private func operationsListener(onListening: @escaping @Sendable (_ port: Int) -> Void) -> some Service {
        let address = live.now.settings.operationsListen
        let connections = descriptors?.operations ?? FileDescriptorBudget.maximumOperations
        return Application(
            router: operationsRouter(),
            server: server(disconnectMonitor.operations, ListenerConnections(.operations(limit: connections))),
            configuration: configuration(address, atMost: connections),
            onServerRunning: { onListening($0.localAddress?.port ?? address.port) },
            logger: logger)
    }

    /// - Parameters:
    ///   - clients: `nil` for the operations listener.
    ///   - certificate: Presented if the configuration has no newer one; `nil` without TLS.
    private func server(
        _ disconnectMonitor: ClientDisconnectMonitor, _ connections: ListenerConnections,
        _ clients: ClientRateLimiter? = nil, _ certificate: ListenerCertificate? = nil
    ) -> HTTPServerBuilder {
        let connectionLimit = ConnectionLimitHandler(live: live, clients: clients, connections: connections)
        let timeouts = clients == nil ? timeouts.forOperations : timeouts
        return HTTPServerBuilder { [live, handshakes] responder in
            let channel = HTTP1ProxyChannel(
                base: HTTP1Channel(
                    responder: responder,
                    // Limits in bytes of one header field and of all header fields, and the number of fields.
                    configuration: .init(
                        httpDecoderConfiguration: .init(
                            maxHeaderFieldSize: 16_384, maxHeaderListSize: 65_536, maxHeaderFieldCount: 200))),
                disconnectMonitor: disconnectMonitor, maximumBodyBytes: VerifyReceiptController.maximumBodyBytes,
                connectionLimit: connectionLimit,
                timeouts: timeouts)
            guard let certificate else { return channel }
            return ProxyTLSChannel(
                base: channel, certificate: { live.now.certificate ?? certificate }, handshakes: handshakes)
        }
    }

    /// If there are requests in progress on all connections, further ones wait in the kernel's backlog of 1,024.
    private func configuration(
        _ address: ProxyConfiguration.Address, atMost connections: Int
    ) -> ApplicationConfiguration {
        ApplicationConfiguration(
            address: .hostname(address.host, port: address.port), serverName: nil, backlog: 1024,
            availableConnectionsDelegate: MaximumAvailableConnections(connections))
    }
}
