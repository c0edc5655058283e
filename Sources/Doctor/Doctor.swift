package import Pipeline
package import StoreTypes
package import Transport

/// Looks at everything that an installation needs, and changes nothing.
package struct Doctor: Sendable {
    let settings: Settings
    /// Nil where nobody is to be asked.
    let transport: (any HTTPTransport)?
    let environment: [String: String]
    let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - transport: nil for what can be seen from here alone.
    ///   - environment: where `HTTPS_PROXY` stands.
    package init(
        settings: Settings, transport: (any HTTPTransport)?, environment: [String: String],
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.settings = settings
        self.transport = transport
        self.environment = environment
        self.now = now
    }

    /// What the machine has to bring, whatever the configuration says; for one with mistakes nothing else can be seen.
    package static func checkups(mistakes: SettingsError) -> [Checkup] {
        mistakes.findings.map { Checkup("configuration", .fail, $0) } + [selfTest]
            + TrustCheckups(settings: Settings(), now: .now).all
    }

    /// In the order in which things depend on one another.
    package func checkups() async -> [Checkup] {
        var all = ConfigurationCheckups(settings: settings).all
        all.append(Self.selfTest)
        all += TrustCheckups(settings: settings, now: now()).all
        let keys = KeyCheckups(settings: settings, now: now())
        all += keys.all
        all.append(StoreCheckup(path: settings.storePath).result)
        if let certificate = settings.tls {
            all.append(CertificateCheckup(certificate: certificate, now: now()).result)
        }
        all += ListenerCheckups(settings: settings).all()
        all.append(DescriptorCheckup(connections: Int(settings.limits.connections)).result())
        guard let transport else { return all }
        all.append(await ProxyCheckup(settings: settings, environment: environment).result())
        let hosts = await HostCheckups(settings: settings, transport: transport, now: now).all()
        all += hosts
        all += await ServerAPICheckups(settings: settings, transport: transport, usable: keys.usable, now: now).all()
        return all
    }
}
