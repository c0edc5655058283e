package import Base
package import BridgeConfiguration
import Server
package import Transport
import VerifyReceipt

/// Checks everything that an installation needs. It changes nothing.
package struct Doctor: Sendable {
    let settings: ProxyConfiguration
    /// `nil` if no host is to be contacted.
    let transport: (any HTTPTransport)?
    let environment: [String: String]
    /// A genuine receipt to check the configuration with; `nil` without one. Its bytes are `nil` if the file cannot be
    /// read.
    package var receipt: (name: String, bytes: [UInt8]?)?
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

    /// Returns the checks of the machine and the errors of the configuration. Other checks need a valid
    /// configuration.
    package static func checks(configurationError: ConfigurationError) -> [CheckResult] {
        configurationError.findings.map { CheckResult("configuration", .fail, $0) } + [selfTest]
            + TrustChecks(settings: ProxyConfiguration(), now: .now).all
    }

    /// Returns all results. A check comes after the checks that it depends on.
    package func checks() async -> [CheckResult] {
        var all = ConfigurationChecks(settings: settings).all
        all.append(Self.selfTest)
        all += TrustChecks(settings: settings, now: now()).all
        let keys = KeyChecks(settings: settings, now: now())
        all += keys.all
        all += await StoreCheck(settings: settings, isOffline: transport == nil, now: now).all()
        if let certificate = settings.tls.flatMap({ try? ListenerCertificate($0) }) {
            all.append(CertificateCheck(certificate: certificate, now: now()).result)
        }
        all += ListenerChecks(settings: settings).all()
        let connections = Int(settings.limits.connections)
        all.append(
            FileDescriptorCheck.result(connections: connections, upstream: settings.upstreamConnections.map(Int.init)))
        all.append(MemoryCheck.result(.ofProcess(connections: connections), connections: connections))
        if let receipt {
            all += await ReceiptCheck(settings: settings, transport: transport, file: receipt, now: now).all()
        }
        guard let transport else { return all }
        all.append(await ProxyCheck(settings: settings, environment: environment).result())
        all += await HostChecks(settings: settings, transport: transport, now: now).all()
        all += await ServerAPIChecks(settings: settings, transport: transport, usable: keys.usable, now: now).all()
        return all
    }
}
