/// The content of `receipt-bridge.yaml`: the configuration of a proxy that uses the simulator instead of Apple.
package struct SimulatedConfiguration: Sendable {
    /// Key id of the first app's In-App Purchase key, in the form of App Store Connect.
    package static let keyId = "SIMKEY0001"
    package static let keyFile = "SubscriptionKey_SIMKEY0001.p8"
    package static let issuerId = "5e1f0c64-0000-4000-8000-53494d554c41"

    package let text: String

    /// Both environments are on one port, with paths that begin with `/production` and `/sandbox`.
    package init(_ pki: TestPKI, host: String, port: Int) {
        let base = Self.baseURL(host: host, port: port)
        let app = SimulatedApp.first
        let roots = pki.roots.map { "roots/\($0.name)" }.joined(separator: ", ")
        let intermediates = pki.intermediates.map { "intermediates/\($0.name)" }.joined(separator: ", ")
        text = """
            # Written by `receipt-bridge simulate`: a proxy in front of the simulated App Store at \(base).
            # The trust below is for tests; with it the server refuses Apple's hosts and listens on loopback only.
            listen: 127.0.0.1:8080
            trust:
              roots: [\(roots)]
              intermediates: [\(intermediates)]
            upstream:
              verifyReceipt:
                production: \(base)/production/verifyReceipt
                sandbox: \(base)/sandbox/verifyReceipt
              serverAPI:
                production: \(base)/production
                sandbox: \(base)/sandbox
            apps:
              - bundleId: \(app.bundleId)
                appAppleId: \(app.appAppleId)
                sharedSecret: {file: shared-secret.txt}
                serverAPI:
                  issuerId: \(Self.issuerId)
                  keyId: \(Self.keyId)
                  privateKey: {file: \(Self.keyFile)}
                answer: [apple, receipt]

            """
    }

    /// Returns the URL at which a client on the same machine reaches the simulator.
    package static func baseURL(host: String, port: Int) -> String {
        let name =
            switch host {
            case "0.0.0.0", "": "127.0.0.1"
            case "::": "[::1]"
            default: host.contains(":") ? "[\(host)]" : host
            }
        return "http://\(name):\(port)"
    }
}
