package import Pipeline
package import StoreTypes
package import Transport

/// Looks at everything that an installation needs, and changes nothing.
package struct Doctor: Sendable {
    let settings: ProxyConfiguration
    /// Nil where nobody is to be asked.
    let transport: (any HTTPTransport)?
    let environment: [String: String]
    let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - transport: nil for what can be seen from here alone.
    ///   - environment: where `HTTPS_PROXY` stands.
    package init(
        settings: ProxyConfiguration, transport: (any HTTPTransport)?, environment: [String: String],
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.settings = settings
        self.transport = transport
        self.environment = environment
        self.now = now
    }

    /// What the machine has to bring, whatever the configuration says; for one with mistakes nothing else can be seen.
    package static func checks(mistakes: ConfigurationError) -> [CheckResult] {
        mistakes.findings.map { CheckResult("configuration", .fail, $0) } + [selfTest]
            + TrustChecks(settings: ProxyConfiguration(), now: .now).all
    }

    /// In the order in which things depend on one another.
    package func checks() async -> [CheckResult] {
        var all = ConfigurationChecks(settings: settings).all
        all.append(Self.selfTest)
        all += TrustChecks(settings: settings, now: now()).all
        let keys = KeyChecks(settings: settings, now: now())
        all += keys.all
        all.append(StoreCheck(path: settings.storePath).result)
        if let certificate = settings.tls {
            all.append(CertificateCheck(certificate: certificate, now: now()).result)
        }
        all += ListenerChecks(settings: settings).all()
        all.append(FileDescriptorCheck(connections: Int(settings.limits.connections)).result())
        guard let transport else { return all }
        all.append(await ProxyCheck(settings: settings, environment: environment).result())
        let hosts = await HostChecks(settings: settings, transport: transport, now: now).all()
        all += hosts
        all += await ServerAPIChecks(settings: settings, transport: transport, usable: keys.usable, now: now).all()
        return all
    }
}
