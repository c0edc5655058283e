import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison
import Foundation
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Configuration")
struct ProxyConfigurationTests {
    // MARK: - The file

    @Test("Every key is read, and an app without keys has the defaults")
    func everyKey() throws {
        let folder = try TemporaryFolder()
        let root = try SharedSimulator.pki.root.certificate
        try folder.write("secrets/account.txt", " an-account-secret \n")
        try folder.write("secrets/token.txt", "a-token-of-16-bytes")
        try folder.write("secrets/app.txt", "\r\napp-secret\r\n")
        try folder.write("k.p8", "a key")
        try folder.write("roots/a.cer", root)
        try folder.write("roots/README", "not a certificate")
        let pem = "-----BEGIN CERTIFICATE-----\n\(Data(root).base64EncodedString())\n-----END CERTIFICATE-----\n"
        try folder.write("middle.pem", pem)
        let yaml = """
            listen: 127.0.0.1:9080
            operations: {listen: "[::1]:9081"}
            tokens: [{file: secrets/token.txt}]
            store: sqlite:receipt-bridge.sqlite
            profile: tolerant
            trust: {roots: [roots], intermediates: [middle.pem]}
            upstream:
              verifyReceipt: {production: "http://127.0.0.1:1/p/verifyReceipt", sandbox: "https://example.com/verifyReceipt"}
              serverAPI: {production: "https://a.example", sandbox: "https://b.example"}
              proxy: http://proxy.example:3128
            sharedSecret: {file: secrets/account.txt}
            unknownApps: refuse
            deadlineSeconds: 5
            outageStatus: 21107
            lastGood: {days: 7, megabytes: 3}
            limits: {requestsPerMinute: 600, connections: 500, connectionsPerClient: 50, headSeconds: 5, requestSeconds: 30}
            trustedProxies: [10.0.0.0/8, "::1"]
            userHeader: X-User-Id
            apps:
              - bundleId: com.example.app
                appAppleId: 1234567890
                sharedSecret: {file: secrets/app.txt}
                acceptedSecrets: [{env: FORMER}, {file: secrets/account.txt}]
                clientPassword: required
                sandbox: deny
                replay: refuse
                serverAPI: {issuerId: i, keyId: k, privateKey: {file: k.p8}}
                answer: [api, receipt, stored, apple]
                storedMaxAge: 3600
                staleSubscription: answer
                latestReceiptInfoOrder: descending
                refundedConsumables: keep
                shadow: none
                shadowSampling: 1.0
              - bundleId: com.example.other
            """
        let settings = try configuration(yaml, in: folder, environment: ["FORMER": " former\n"])
        #expect(settings.listen == ProxyConfiguration.Address(host: "127.0.0.1", port: 9080))
        #expect(settings.operationsListen == ProxyConfiguration.Address(host: "::1", port: 9081))
        #expect(settings.operationsListenIsExplicit)
        #expect(settings.usesTolerantProfile)
        #expect(settings.trustedRoots == [root] && settings.intermediates == [root])
        #expect(settings.verifyReceipt.production == "http://127.0.0.1:1/p/verifyReceipt")
        #expect(settings.verifyReceipt.sandbox == "https://example.com/verifyReceipt")
        #expect(settings.upstreamProxy == "http://proxy.example:3128")
        #expect(settings.sharedSecret == SharedSecret("an-account-secret"))
        #expect(settings.unknownApps == .refuse && settings.deadline == .seconds(5))
        #expect(settings.outageStatus == .status(VerifyReceiptStatus(rawValue: 21107)))
        #expect(settings.lastGood.days == 7 && settings.lastGood.bytes == 3 << 20)
        try #require(settings.apps.count == 2)
        let app = settings.apps[0]
        #expect(app.bundleId?.rawValue == "com.example.app" && app.appAppleId == 1_234_567_890)
        #expect(app.sharedSecret == SharedSecret("app-secret"))
        #expect(app.acceptedSecrets == [SharedSecret("former"), SharedSecret("an-account-secret")])
        #expect(app.clientPassword == .required && app.sandbox == .deny && app.staleSubscription == .answer)
        #expect(app.answer == [.api, .receipt, .stored, .apple] && app.storedMaxAge == 3600)
        #expect(app.serverAPI?.issuerId == "i" && app.serverAPI?.keyId == "k")
        #expect(app.serverAPI?.bundleId == "com.example.app" && app.latestReceiptInfoOrder == .descending)
        #expect(app.refundedConsumables == .keep && settings.apps[1].refundedConsumables == .drop)
        #expect(settings.serverAPI.production == "https://a.example")
        #expect(settings.serverAPI.sandbox == "https://b.example")
        #expect(settings.tokens.map { $0.reveal() } == ["a-token-of-16-bytes"])
        #expect(settings.limits.requestsPerMinute == 600 && settings.limits.connections == 500)
        #expect(settings.limits.connectionsPerClient == 50)
        #expect(settings.limits.headSeconds == 5 && settings.limits.requestSeconds == 30)
        #expect(settings.trustedProxies.count == 2 && settings.userHeader == "X-User-Id" && app.replay == .refuse)
        let other = settings.apps[1]
        #expect(other.replay == .report && other.testers == nil)
        #expect(other.clientPassword == .optional && other.sandbox == .allow && other.answer == [.apple, .receipt])
        #expect(settings.unknownVariables.isEmpty)
    }

    @Test("An empty configuration gives the defaults", arguments: ["", "# nothing\n", "{}", "apps:\n", "listen: ~"])
    func empty(yaml: String) throws {
        let settings = try configuration(yaml, in: TemporaryFolder())
        #expect(settings.listen.description == "127.0.0.1:8080")
        #expect(settings.operationsListen.description == "127.0.0.1:8081" && !settings.operationsListenIsExplicit)
        #expect(settings.verifyReceipt.production == "https://buy.itunes.apple.com/verifyReceipt")
        #expect(settings.verifyReceipt.sandbox == "https://sandbox.itunes.apple.com/verifyReceipt")
        #expect(settings.unknownApps == .pass && settings.apps.isEmpty && !settings.usesTolerantProfile)
        #expect(settings.deadline == .seconds(9) && settings.outageStatus == .status(.temporarilyUnavailable))
        #expect(settings.lastGood.days == 30 && settings.lastGood.bytes == 512 << 20)
    }

    @Test("An app's shadow source, sampling and comparison rules are read")
    func shadow() throws {
        let folder = try TemporaryFolder()
        try folder.write("k.p8", "key")
        let key = "serverAPI: {issuerId: i, keyId: k, privateKey: {file: k.p8}}"
        let app = try configuration(
            """
            apps:
              - {bundleId: com.example.app, \(key), shadow: api, shadowSampling: 0.25, comparisonRules: {order: ignore, cancellation: expected}}
              - {bundleId: com.example.other}
            """, in: folder)
        #expect(app.apps[0].shadow == .api && app.apps[0].shadowSampling == 0.25)
        #expect(app.apps[0].comparisonRules == ["order": .ignore, "cancellation": .expected])
        #expect(app.apps[1].shadow == nil && app.apps[1].comparisonRules.isEmpty)
    }

    @Test("The key `forward` configures targets with their form and secrets")
    func targets() throws {
        let settings = try configuration(
            """
            apps:
              - bundleId: com.example.app
                serverAPI: {issuerId: i, keyId: k, privateKey: {env: KEY}}
                forward:
                  - {url: "https://a.example/x?y=1", as: raw, secret: {env: SECRET}}
                  - {url: "http://127.0.0.1:1/", as: camel}
                  - {url: "https://a.example/x?y=1", as: v1, password: {env: PASSWORD}, v1Profile: "2020", concurrency: 200}
              - {bundleId: com.example.other, forward: []}
            """, in: TemporaryFolder(), environment: ["KEY": "k", "SECRET": "s", "PASSWORD": "p"])
        let app = settings.apps[0]
        #expect(app.forward.map(\.form) == [.raw, .camel, .v1])
        #expect(app.forward.map(\.secret) == [Redacted("s"), nil, nil])
        #expect(app.forward[2].password == SharedSecret("p") && app.forward[2].profile == .year2020)
        #expect(app.forward[0].profile == .current && app.forward[0].url.text == "https://a.example/x?y=1")
        #expect(app.forward.map(\.concurrency) == [64, 64, 200])
        #expect(app.targetKeys.map(\.form) == ["raw", "camel", "v1"])
        #expect(settings.apps[1].forward.isEmpty)
        let many = (0..<9).map { "{url: \"https://a.example/\($0)\", as: raw}" }.joined(separator: ", ")
        #expect(
            try findings("apps: [{bundleId: com.example.app, forward: [\(many)]}]")
                == ["apps[0].forward: has more than 8 targets"])
    }

    @Test("Retention periods are days or `forever`")
    func retention() throws {
        let yaml = "retention: {notifications: 10, customers: forever, events: 366}"
        var expected = Retention()
        expected.notifications = 10
        expected.customers = nil
        expected.events = 366
        #expect(try configuration(yaml, in: TemporaryFolder()).retention == expected)
    }

    @Test("The default store is next to the configuration file")
    func store() throws {
        let folder = try TemporaryFolder()
        let usual = try #require(try configuration("listen: 127.0.0.1:1", in: folder).store?.path)
        #expect(usual.hasSuffix("/receipt-bridge.sqlite"))
        #expect(try configuration("store: sqlite:/var/lib/b.sqlite", in: folder).store?.path == "/var/lib/b.sqlite")
        #expect(try configuration("store: none", in: folder).store == nil)
        #expect(ProxyConfiguration().store == nil)
    }

    @Test(
        "A document that is not a YAML mapping is an error",
        arguments: ["listen: [", "- listen", "listen", "listen: a:1\nlisten: b:2", "\t:", "apps: {}", "apps: [~]"])
    func notAMapping(yaml: String) throws {
        #expect(try findings(yaml).allSatisfy { !$0.hasPrefix("(") })
        #expect(try !findings(yaml).isEmpty)
    }

    @Test("A file that cannot be read is reported with its path and the reason")
    func unreadable() throws {
        let folder = try TemporaryFolder()
        let path = folder.url.path
        try folder.write("folder.txt/a", [])
        try folder.write("latin1.yaml", [0x61, 0x3A, 0x20, 0xE9])
        for (file, expected) in [
            ("folder.txt", "this is a directory"), ("latin1.yaml", "is not UTF-8 text"),
            ("none.yaml", "there is no such file"),
        ] {
            let error = #expect(throws: ConfigurationError.self) {
                try ConfigurationEnvironment.settings(
                    file: folder.url.appending(path: file), environment: [:], checks: .server)
            }
            #expect(error?.findings == ["\(path)/\(file): \(expected)"])
        }
    }

    @Test("A configuration is read from a pipe, once, and paths in it are relative to the working directory")
    func pipe() throws {
        func path(of pipe: Pipe) -> String { "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)" }
        func read(_ pipe: Pipe) throws -> ProxyConfiguration {
            try ConfigurationEnvironment.settings(
                file: URL(filePath: path(of: pipe)), environment: [:], checks: .server)
        }
        let (empty, full) = (Pipe(), Pipe())
        try full.fileHandleForWriting.write(contentsOf: Data("listen: 127.0.0.1:7000\nstore: sqlite:a.sqlite\n".utf8))
        for pipe in [empty, full] { try pipe.fileHandleForWriting.close() }
        // A reload, and some commands, need the configuration again.
        for _ in 0..<2 {
            let settings = try read(full)
            #expect(settings.listen.port == 7000)
            #expect(settings.store?.path == FileManager.default.currentDirectoryPath + "/a.sqlite")
        }
        // The program that writes into the pipe has failed.
        let error = #expect(throws: ConfigurationError.self) { try read(empty) }
        #expect(error?.findings == ["\(path(of: empty)): is empty"])
    }

    // MARK: - Rules across keys

    private func withRoots(_ yaml: String) throws -> [String] {
        let folder = try TemporaryFolder()
        try folder.write("root.cer", try SharedSimulator.pki.root.certificate)
        return try findings("trust: {roots: [root.cer]}\n" + yaml, in: folder)
    }

    static let simulator = """
        upstream:
          verifyReceipt: {production: "http://127.0.0.1:1/verifyReceipt", sandbox: "http://[::1]:1/verifyReceipt"}

        """

    @Test("Test roots cannot be combined with Apple's hosts, however those are spelled")
    func rootsAndApple() throws {
        #expect(try withRoots(Self.simulator).isEmpty)
        #expect(
            try withRoots("") == [
                "(upstream.verifyReceipt.production: trust.roots is for simulators and cannot be combined with Apple's host "
                    + "buy.itunes.apple.com)",
                "(upstream.verifyReceipt.sandbox: trust.roots is for simulators and cannot be combined with Apple's host "
                    + "sandbox.itunes.apple.com)",
            ])
        for host in ["apple.com", "BUY.iTunes.Apple.com", "buy.itunes.apple.com.", "buy.itunes.apple.com:443"] {
            let yaml = """
                upstream:
                  verifyReceipt: {production: "https://\(host)/verifyReceipt", sandbox: "https://example.com/v"}
                """
            let found = try withRoots(yaml)
            let expected = "upstream.verifyReceipt.production: trust.roots"
            #expect(found.count == 1 && found[0].hasPrefix(expected), "\(host)")
        }
        let other = "upstream: {verifyReceipt: {production: \"https://pineapple.com/v\", sandbox: \"https://a.b/v\"}}"
        #expect(try withRoots(other).isEmpty)
    }

    @Test("Test roots cannot be combined with a listener that is not on loopback")
    func rootsAndListeners() throws {
        for host in ["0.0.0.0", "[::]", "10.0.0.1", "127.example.com", "127.0.0.1.example.com", "example.com"] {
            #expect(
                try withRoots(Self.simulator + "listen: \"\(host):8080\"").first?
                    .hasPrefix("listen: ") == true, "\(host)")
            #expect(
                try withRoots(Self.simulator + "operations: {listen: \"\(host):8080\"}").first?
                    .hasPrefix("operations.listen: ") == true)
        }
        for host in ["127.0.0.1", "127.1.2.3", "localhost", "[::1]"] {
            #expect(try withRoots(Self.simulator + "listen: \"\(host):8080\"").isEmpty, "\(host)")
        }
    }
}
