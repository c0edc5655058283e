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

    @Test("All mistakes are reported at once, with file and key")
    func allFindings() throws {
        let yaml = """
            listn: 127.0.0.1:80
            listen: 8080
            operations: {listen: "127.0.0.1:8081", port: 1}
            store: postgres://db/receipts
            profile: lenient
            unknownApps: maybe
            deadlineSeconds: 31
            outageStatus: 21004
            lastGood: {days: 366, megabytes: 0, hours: 1}
            trust: {roots: [nowhere.cer], leaves: []}
            upstream: {verifyReceipt: {staging: x}, apple: y}
            sharedSecret: in-the-open
            apps:
              - {bundleId: com.example.app, sharedSecret: {file: missing.txt}, colour: red}
              - {bundleId: com.example.app, appAppleId: many, sharedSecret: {env: MISSING}, answer: [oracle]}
              - {answer: [api]}
              - com.example.third
            """
        let found = try findings(yaml)
        for expected in [
            "listn: unknown key", "listen: 8080 is not HOST:PORT, for example 127.0.0.1:8080",
            "operations.port: unknown key",
            "store: the address names no user, for example postgresql://bridge@db/receipts",
            "profile: lenient is not one of apple, tolerant",
            "unknownApps: maybe is not one of pass, refuse", "deadlineSeconds: 31 is not in the range 1 to 30",
            "lastGood.days: 366 is not in the range 0 to 365",
            "lastGood.megabytes: 0 is not in the range 1 to 1000000",
            "outageStatus: 21004: expected 21005, 21100 to 21199, 503", "lastGood.hours: unknown key",
            "trust.roots: cannot read nowhere.cer: there is no such file",
            "trust.leaves: unknown key", "upstream.verifyReceipt.staging: unknown key",
            "upstream.apple: unknown key", "sharedSecret: expected {file: path} or {env: NAME}",
            "apps[0].sharedSecret: cannot read missing.txt: there is no such file", "apps[0].colour: unknown key",
            "apps[1].bundleId: com.example.app is configured twice", "apps[1].appAppleId: many is not a whole number",
            "apps[1].sharedSecret: environment variable MISSING is unset or empty",
            "apps[1].answer: oracle is not one of apple, api, receipt, stored", "apps[2].bundleId: missing",
            "apps[3]: expected keys and values",
        ] {
            #expect(found.contains(expected), "\(expected)")
        }
        #expect(!found.joined().contains("in-the-open"))
    }

    @Test("An app's shadow source, sampling and comparison rules are read and checked")
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
        for (yaml, expected) in [
            "shadow: api": "apps[0].shadow: api needs serverAPI with issuerId, keyId and privateKey",
            "shadow: apple":
                "apps[0].shadow: apple is the first source of answer already; shadow must name another one",
            "shadow: receipt": "apps[0].shadow: receipt is not one of none, apple, api",
            "shadowSampling: 2": "apps[0].shadowSampling: 2 is not in the range 0 to 1",
            "shadowSampling: half": "apps[0].shadowSampling: half is not in the range 0 to 1",
            "comparisonRules: {ordr: ignore}": "apps[0].comparisonRules.ordr: unknown key. Did you mean order?",
            "comparisonRules: {order: maybe}":
                "apps[0].comparisonRules.order: maybe is not one of expected, unexpected, ignore",
        ] as KeyValuePairs {
            let found = try findings("apps: [{bundleId: com.example.app, \(yaml)}]")
            #expect(found.contains(expected), "\(yaml): \(found)")
        }
    }

    @Test("Retention periods are days or `forever`")
    func retention() throws {
        let yaml = "retention: {notifications: 10, customers: forever, events: 366}"
        var expected = Retention()
        expected.notifications = 10
        expected.customers = nil
        expected.events = 366
        #expect(try configuration(yaml, in: TemporaryFolder()).retention == expected)
        let wrong =
            "retention: {notifications: 0, customers: 29, refunds: long, renewalExtensions: 365, orders: 1, cookies: 1}"
        #expect(
            try Set(findings(wrong)) == [
                "retention.notifications: 0: expected 1 to 36500 days, or forever",
                "retention.customers: 29: expected 30 to 36500 days, or forever",
                "retention.refunds: long: expected 1 to 36500 days, or forever",
                "retention.renewalExtensions: remove this key: extensions are not stored, the App Store counts them",
                "retention.orders: remove this key: lookups of orders are not stored",
                "retention.cookies: unknown key",
            ])
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

    @Test("A missing file is reported with its path")
    func missingFile() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try ConfigurationEnvironment.settings(
                file: URL(filePath: "/nowhere/bridge.yaml"), environment: [:], checks: .server)
        }
        #expect(error?.findings == ["/nowhere/bridge.yaml: there is no such file"])
    }

    @Test("A file that cannot be read is reported with its path and the reason")
    func unreadable() throws {
        let folder = try TemporaryFolder()
        let path = folder.url.path
        try folder.write("folder.txt/a", [])
        try folder.write("latin1.yaml", [0x61, 0x3A, 0x20, 0xE9])
        try folder.write("empty.txt", [])
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
        for (file, expected) in [
            ("folder.txt", "cannot read folder.txt: this is a directory"),
            ("none.txt", "cannot read none.txt: there is no such file"),
            ("empty.txt", "\(path)/empty.txt is empty"),
        ] {
            #expect(try findings("sharedSecret: {file: \(file)}", in: folder) == ["sharedSecret: \(expected)"])
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

    @Test("Secrets come from files and environment variables, and must not be empty")
    func emptySecrets() throws {
        let folder = try TemporaryFolder()
        try folder.write("empty.txt", " \n")
        for (yaml, expected) in [
            ("sharedSecret: {file: empty.txt}", "sharedSecret: empty.txt is empty"),
            ("sharedSecret: {env: BLANK}", "sharedSecret: environment variable BLANK is unset or empty"),
            ("sharedSecret: {}", "sharedSecret: expected {file: path} or {env: NAME}"),
            ("sharedSecret: {file: empty.txt, env: BLANK}", "sharedSecret.env: unknown key"),
            ("tokens: [{file: empty.txt}]", "tokens[0]: empty.txt is empty"),
            ("tokens: [{env: BLANK}]", "tokens[0]: environment variable BLANK is unset or empty"),
            ("tokens: [in-the-open]", "tokens[0]: expected {file: path} or {env: NAME}"),
            ("tokens: x", "tokens: expected a list"),
        ] {
            let found = try findings(yaml, in: folder, environment: ["BLANK": "  \n"])
            #expect(found.map { $0.replacing(folder.url.path + "/", with: "") }.contains(expected), "\(yaml)")
        }
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

    @Test("Upstream URLs must be valid, and http is for loopback only")
    func plainHTTP() throws {
        for url in [
            "http://example.com/verifyReceipt", "http://127.example.com/v", "http://10.0.0.1/v", "ftp://127.0.0.1/v",
            "verifyReceipt", "https://", "https://user@example.com/v",
        ] {
            let found = try findings("upstream: {verifyReceipt: {sandbox: \"\(url)\"}}")
            #expect(found.count == 1 && found[0].hasPrefix("upstream.verifyReceipt.sandbox: "), "\(url)")
        }
        for url in ["http://127.0.0.1:1/v", "http://localhost/v", "http://[::1]:8/v", "https://example.com/v"] {
            #expect(try findings("upstream: {verifyReceipt: {sandbox: \"\(url)\"}}").isEmpty, "\(url)")
        }
    }
}
