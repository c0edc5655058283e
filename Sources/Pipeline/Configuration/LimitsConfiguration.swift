/// What one client, and all together, may take of the public listener.
package struct Limits: Sendable, Hashable {
    /// Of one client; nil sets none.
    package var requestsPerMinute: Int64?
    /// Open at the same time; more wait to be taken.
    package var connections: Int64 = 10_000
    /// Of one client, open at the same time; nil sets none. One more is closed.
    package var connectionsPerClient: Int64?
    /// From the first byte of a request to the end of its head.
    package var headSeconds: Int64 = 10
    /// To the end of its body.
    package var requestSeconds: Int64 = 60

    package init() {}
}

extension ConfigurationFile {
    /// `limits: {requestsPerMinute, connections, connectionsPerClient, headSeconds, requestSeconds}`
    static func limits(of root: ConfigurationNode) -> Limits {
        var limits = Limits()
        guard let node = root.child("limits") else { return limits }
        limits.requestsPerMinute = node.number("requestsPerMinute", in: 1...1_000_000)
        if let connections = node.number("connections", in: 1...1_000_000) { limits.connections = connections }
        limits.connectionsPerClient = node.number("connectionsPerClient", in: 1...1_000_000)
        if let seconds = node.number("headSeconds", in: 1...600) { limits.headSeconds = seconds }
        if let seconds = node.number("requestSeconds", in: 1...3600) { limits.requestSeconds = seconds }
        node.finish()
        return limits
    }

    /// `trustedProxies: [address, network …]`
    static func trustedProxies(of root: ConfigurationNode) -> [AddressRange] {
        (root.texts("trustedProxies") ?? []).compactMap { text in
            let range = AddressRange(text)
            if range == nil { root.note("trustedProxies", "\(text) is no address, and no network as 10.0.0.0/8") }
            return range
        }
    }

    /// `sandbox: allow`, `sandbox: deny` or `sandbox: {testers: [id or appAccountToken …]}`
    static func readSandbox(_ node: ConfigurationNode, into app: inout AppConfiguration) {
        guard node.isObject("sandbox", with: "testers") else {
            let choice = node.choice("sandbox", of: AppConfiguration.SandboxPolicy.self, or: "{testers: [id, …]}")
            if let choice { app.sandbox = choice }
            return
        }
        guard let policy = node.child("sandbox") else { return }
        let testers = policy.texts("testers") ?? []
        if testers.isEmpty { policy.noteMissing("testers", "expected at least one tester; deny is for none") }
        for tester in testers where !SandboxAllowlist.isIdentifier(tester) {
            guard SandboxAllowlist.isToken(tester) else {
                policy.note("testers", "\(tester) is neither the id of a transaction nor an appAccountToken")
                continue
            }
            if app.serverAPI == nil, !node.isMistaken("serverAPI") {
                policy.note("testers", "an appAccountToken needs serverAPI: no receipt holds it")
            }
        }
        app.testers = SandboxAllowlist(testers)
        policy.finish()
    }
}
