import Foundation

/// What must hold across keys.
package enum SettingsRules {
    /// Sentences, one per broken rule.
    package static func findings(in settings: Settings) -> [String] {
        let upstreams = [
            ("upstream.verifyReceipt.production", settings.verifyReceipt.production),
            ("upstream.verifyReceipt.sandbox", settings.verifyReceipt.sandbox),
        ]
        var findings: [String] = []
        for (key, text) in upstreams {
            guard let url = URL(string: text), let host = url.host(), ["http", "https"].contains(url.scheme) else {
                findings.append("\(key): \(text) is not an http or https URL")
                continue
            }
            let isLoopback = Settings.Address(host: host, port: 0).isLoopback
            if url.scheme == "http", !isLoopback {
                findings.append("\(key): plain http goes to this machine only, \(host) is another")
            }
            if !settings.trustedRoots.isEmpty, host == "apple.com" || host.hasSuffix(".apple.com") {
                findings.append("\(key): trust.roots is for simulators and cannot stand beside Apple's host \(host)")
            }
        }
        if !settings.trustedRoots.isEmpty {
            for (key, address) in [("listen", settings.listen), ("operations.listen", settings.operationsListen)]
            where !address.isLoopback {
                findings.append("\(key): trust.roots is for simulators, so \(address) must be on loopback")
            }
        }
        return findings
    }
}
