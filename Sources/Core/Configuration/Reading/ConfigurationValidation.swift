import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeTransport

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
            + proxyAndUserHeader(settings) + secrets(settings, of: file)
        return all.filter { !([$0.key] + $0.relatedKeys).contains(where: file.hasFinding) }
            .map { "\(file.source(of: $0.key)): \($0.sentence)" }
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

    /// A secret, where it is configured, and what it is used for.
    private struct Use {
        let key: String
        let secret: String?
        var purpose = Purpose.shared

        var section: String { String(key.prefix { $0 != "." && $0 != "[" }) }
    }

    /// Of two uses of one secret the later one is to be changed: the first ones are Apple's.
    private enum Purpose: CaseIterable {
        case shared, privateKey, proxy, database, signature, token

        private static let new = "set another one, for example from: openssl rand -hex 32"

        /// What to do if the secret has another use, too.
        var advice: String {
            switch self {
            case .shared, .privateKey: "one of them is another secret by mistake"
            case .proxy, .database: "change this password"
            case .signature: "\(Self.new), here and at the target"
            case .token: "\(Self.new), here and in its clients"
            }
        }
    }

    /// Checks that no secret has two uses: whoever knows it for one of them could do the other. For example, old apps
    /// contain shared secrets, with which their users could call `/v1/`.
    private static func secrets(_ settings: ProxyConfiguration, of file: ConfigurationDiagnostics) -> [Finding] {
        var first: [String: Use] = [:]
        return uses(of: settings).compactMap { use in
            guard let text = use.secret.map(essence) else { return nil }
            guard let other = first[text] else {
                first[text] = use
                return nil
            }
            guard other.purpose != use.purpose else { return nil }
            let place = file.source(of: other.key).replacing("\(file.displayName): ", with: "", maxReplacements: 1)
            return (use.key, [other.section, use.section, "sharedSecret"], "is also \(place): \(use.purpose.advice)")
        }
    }

    /// The secrets of the configuration in the order of their purposes.
    private static func uses(of settings: ProxyConfiguration) -> [Use] {
        func list(_ key: String, _ secrets: [SharedSecret], _ purpose: Purpose = .shared) -> [Use] {
            secrets.enumerated().map { Use(key: "\(key)[\($0)]", secret: $1.reveal(), purpose: purpose) }
        }
        let proxy = settings.upstreamProxy.flatMap { $0.firstMatch(of: /\/\/[^\/@]*:([^\/@]+)@/) }
        var uses = [
            Use(key: "sharedSecret", secret: settings.sharedSecret?.reveal()),
            Use(key: "upstream.proxy", secret: proxy.map { String($0.output.1) }, purpose: .proxy),
            Use(
                key: "database.password", secret: try? settings.database.password?.password(), purpose: .database),
        ]
        uses += list("tokens", settings.tokens, .token)
        for (index, app) in settings.apps.enumerated() {
            let key = "apps[\(index)]"
            uses.append(Use(key: "\(key).sharedSecret", secret: app.sharedSecret?.reveal()))
            uses += list("\(key).acceptedSecrets", app.acceptedSecrets)
            let privateKey = try? app.serverAPI?.privateKey.password()
            uses.append(Use(key: "\(key).serverAPI.privateKey", secret: privateKey, purpose: .privateKey))
            for (index, target) in app.forward.enumerated() {
                let key = "\(key).forward[\(index)]"
                uses.append(Use(key: "\(key).password", secret: target.password?.reveal()))
                uses.append(Use(key: "\(key).secret", secret: target.secret?.reveal(), purpose: .signature))
            }
        }
        return Purpose.allCases.flatMap { purpose in uses.filter { $0.purpose == purpose } }
    }

    /// The text of a secret without white space and without the first and last line of a PEM file.
    private static func essence(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }.joined().filter { !$0.isWhitespace }
    }

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

    /// `apple.com` or one of its subdomains, with or without the trailing dot of a fully qualified name.
    private static func isApple(_ host: String) -> Bool {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return name == "apple.com" || name.hasSuffix(".apple.com")
    }
}
