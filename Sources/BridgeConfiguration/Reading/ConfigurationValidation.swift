import Transport

/// Rules that concern several keys or the whole configuration, checked after the file, environment and flags are
/// combined.
enum ConfigurationValidation {
    /// The key to change, the other keys that the rule involves, and the message.
    private typealias Finding = (key: String, relatedKeys: [String], sentence: String)

    /// Returns one sentence for each broken rule. A rule is skipped if a key that it involves already has a finding.
    static func findings(in settings: ProxyConfiguration, of file: ConfigurationDiagnostics) -> [String] {
        // Test roots that could not be loaded count too: the operator meant to use test roots.
        let hasRoots = !settings.trustedRoots.isEmpty || file.keysWithFindings.contains("trust.roots")
        let all =
            upstreams(settings, hasRoots: hasRoots) + listeners(settings, hasRoots: hasRoots)
            + proxyAndUserHeader(settings) + handleKeys(settings)
        return all.filter { !([$0.key] + $0.relatedKeys).contains(where: file.hasFinding) }
            .map { "\(file.sources[$0.key] ?? $0.key): \($0.sentence)" }
    }

    /// Checks the upstream URLs. Test roots and Apple's hosts exclude each other.
    private static func upstreams(_ settings: ProxyConfiguration, hasRoots: Bool) -> [Finding] {
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
        var findings: [Finding] = []
        for (key, text) in upstreams {
            do throws(TransportError) {
                let host = try HTTPURL(text).host
                if hasRoots, isApple(host) {
                    findings.append(
                        (key, [], "trust.roots is for simulators and cannot be combined with Apple's host \(host)"))
                }
            } catch {
                findings.append((key, [], "\(redacted(text)): \(error.reason)"))
            }
        }
        return findings
    }

    /// Checks the listeners: they must not share an address, the operations listener needs tokens if it is not on
    /// loopback, and test roots allow listeners on loopback only.
    private static func listeners(_ settings: ProxyConfiguration, hasRoots: Bool) -> [Finding] {
        let (listen, operations) = (settings.listen, settings.operationsListen)
        var findings: [Finding] = []
        if settings.operationsListenIsExplicit, operations == listen, listen.port != 0 {
            findings.append(("operations.listen", ["listen"], "\(listen) is already the address of listen"))
        }
        guard hasRoots else {
            if !operations.isLoopback, settings.tokens.isEmpty {
                findings.append(
                    (
                        "operations.listen", ["tokens"],
                        "\(operations) is not on loopback and there are no tokens: set tokens, otherwise every client that "
                            + "reaches it can read the data of every customer"
                    ))
            }
            return findings
        }
        for (key, address) in [("listen", listen), ("operations.listen", operations)] where !address.isLoopback {
            findings.append((key, [], "trust.roots is for simulators, so \(address) must be on loopback"))
        }
        return findings
    }

    private static func proxyAndUserHeader(_ settings: ProxyConfiguration) -> [Finding] {
        var findings: [Finding] = []
        if let proxy = settings.upstreamProxy, !isProxy(proxy) {
            // The value is not shown: it may contain a password.
            findings.append(("upstream.proxy", [], "expected \(proxies)"))
        }
        if let name = settings.userHeader, !isHeaderName(name) {
            findings.append(("userHeader", [], "\(name) is not a valid header name"))
        }
        return findings
    }

    /// Checks that no handle key is a secret that others know: old apps contain shared secrets, and every caller of
    /// `/v1` has a token. With it they could forge handles.
    private static func handleKeys(_ settings: ProxyConfiguration) -> [Finding] {
        let ofApps = settings.apps.flatMap { app in
            [app.sharedSecret].compactMap(\.self) + app.acceptedSecrets
                + app.forward.flatMap { [$0.secret, $0.password].compactMap(\.self) }
        }
        let known = Set(ofApps + [settings.sharedSecret].compactMap(\.self) + settings.tokens)
        guard settings.handleKeys.contains(where: known.contains) else { return [] }
        return [("handleKeys", [], "a key is also a shared secret, a token, or a secret or password of forward")]
    }

    /// The expected form of a proxy URL, for findings.
    static let proxies = "http://HOST:PORT or https://HOST:PORT"

    /// Returns a URL without the parts that may hold a secret: user information, query and fragment.
    private static func redacted(_ url: String) -> String {
        let text = url.lastIndex(of: "@").map { "***\(url[$0...])" } ?? url
        return String(text.prefix { $0 != "?" && $0 != "#" })
    }

    /// Returns whether a text is a token of RFC 9110 (section 5.6.2), as a header name must be.
    private static func isHeaderName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
    }

    /// Returns whether a text is a proxy URL that libcurl accepts. It may contain a user name and password.
    private static func isProxy(_ text: String) -> Bool {
        (text.hasPrefix("http://") || text.hasPrefix("https://"))
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) } && !text.hasSuffix("://")
    }

    /// Returns whether a host is `apple.com` or one of its subdomains, with or without the trailing dot of a fully
    /// qualified name.
    private static func isApple(_ host: String) -> Bool {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return name == "apple.com" || name.hasSuffix(".apple.com")
    }
}
