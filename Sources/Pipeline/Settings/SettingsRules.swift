import StoreTypes
import Transport

/// What must hold across keys.
package enum SettingsRules {
    /// Sentences, one per broken rule.
    package static func findings(in settings: Settings) -> [String] {
        var findings: [String] = []
        var upstreams = [
            ("upstream.verifyReceipt.production", settings.verifyReceipt.production),
            ("upstream.verifyReceipt.sandbox", settings.verifyReceipt.sandbox),
        ]
        if settings.namesServerAPI || settings.apps.contains(where: { $0.serverAPI != nil }) {
            upstreams += [
                ("upstream.serverAPI.production", settings.serverAPI.production),
                ("upstream.serverAPI.sandbox", settings.serverAPI.sandbox),
            ]
        }
        for (key, text) in upstreams {
            do throws(TransportError) {
                let host = try HTTPURL(text).host
                if !settings.trustedRoots.isEmpty, isApple(host) {
                    findings.append(
                        "\(key): trust.roots is for simulators and cannot stand beside Apple's host \(host)")
                }
            } catch {
                findings.append("\(key): \(error.reason)")
            }
        }
        if let proxy = settings.upstreamProxy, !isProxy(proxy) {
            findings.append("upstream.proxy: expected http://HOST:PORT or https://HOST:PORT")
        }
        if settings.operationsListenIsExplicit, settings.operationsListen == settings.listen, settings.listen.port != 0
        {
            findings.append("operations.listen: \(settings.listen) is the address of listen")
        }
        if let name = settings.userHeader, !isHeaderName(name) {
            findings.append("userHeader: \(name) is not the name of a header")
        }
        for app in settings.apps where app.replay == .refuse && settings.userHeader == nil {
            findings.append(
                "\(app.bundleId?.rawValue ?? "-"): replay: refuse needs userHeader: nothing else names a user")
        }
        if !settings.trustedRoots.isEmpty {
            for (key, address) in [("listen", settings.listen), ("operations.listen", settings.operationsListen)]
            where !address.isLoopback {
                findings.append("\(key): trust.roots is for simulators, so \(address) must be on loopback")
            }
        }
        return findings
    }

    /// A token of RFC 9110.
    private static func isHeaderName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
    }

    /// As libcurl takes it; it may hold a user and password.
    private static func isProxy(_ text: String) -> Bool {
        (text.hasPrefix("http://") || text.hasPrefix("https://"))
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) } && !text.hasSuffix("://")
    }

    /// `apple.com` and everything below it, with the final dot of a complete name or without.
    private static func isApple(_ host: String) -> Bool {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return name == "apple.com" || name.hasSuffix(".apple.com")
    }
}
