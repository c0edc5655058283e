package import ReceiptBridgeBase
package import ReceiptBridgeCore
import ReceiptBridgeServer
package import ReceiptBridgeTransport

/// Checks everything that an installation needs. It changes nothing.
package struct Doctor: Sendable {
    let settings: ProxyConfiguration
    /// `nil` if no host is to be contacted.
    let transport: (any HTTPTransport)?
    let environment: [String: String]
    /// A genuine receipt to check the configuration with; `nil` without one.
    package var receipt: (name: String, bytes: [UInt8])?
    let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - transport: `nil` for local checks only.
    ///   - environment: The process environment, for `HTTPS_PROXY` and similar variables.
    package init(
        settings: ProxyConfiguration, transport: (any HTTPTransport)?, environment: [String: String],
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.settings = settings
        self.transport = transport
        self.environment = environment
        self.now = now
    }

    /// The checks of the machine, and the errors of the configuration. Other checks need a valid one.
    package static func checks(configurationError: ConfigurationError) -> [CheckResult] {
        configurationError.findings.map { CheckResult("configuration", .fail, $0) } + [selfTest]
            + Doctor(settings: ProxyConfiguration(), transport: nil, environment: [:]).rootChecks
    }

    /// Returns all results. A check comes after the checks that it depends on.
    package func checks() async -> [CheckResult] {
        let keys = keyChecks
        var all = configurationChecks + [Self.selfTest] + rootChecks + keys.map(\.result)
        all += await storeChecks()
        if let certificate = settings.tls.flatMap({ try? ListenerCertificate($0) }) { all.append(check(certificate)) }
        let connections = Int(settings.limits.connections)
        all += listenerChecks
        all += [
            Self.descriptorCheck(connections: connections, upstream: settings.upstreamConnections.map(Int.init)),
            Self.memoryCheck(.ofProcess(connections: connections), connections: connections),
        ]
        if let receipt { all += await checks(of: receipt) }
        guard let transport else { return all }
        all.append(await proxyCheck())
        all += await hostChecks(transport)
        let usable = Set(keys.filter { $0.result.verdict == .pass }.map(\.bundleId))
        all += await serverAPIChecks(of: settings.apps.compactMap(\.bundleId).filter(usable.contains), transport)
        return all
    }
}
