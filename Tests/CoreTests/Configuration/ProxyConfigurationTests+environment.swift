import ReceiptBridgeAppStore
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

/// The environment, the flags, and keys of the server.
extension ProxyConfigurationTests {
    @Test("Flags override the environment, and the environment overrides the file")
    func precedence() throws {
        let folder = try TemporaryFolder()
        let secret = try folder.write("elsewhere.txt", "from-file\n")
        let yaml = """
            listen: 127.0.0.1:1
            unknownApps: refuse
            apps: [{bundleId: com.example.app, sandbox: deny, answer: [receipt]}, {bundleId: com.example.b}]
            """
        let environment = [
            "RECEIPT_BRIDGE_LISTEN": "127.0.0.1:2", "RECEIPT_BRIDGE_OPERATIONS_LISTEN": "[::1]:3",
            "RECEIPT_BRIDGE_UNKNOWNAPPS": "pass", "RECEIPT_BRIDGE_SHAREDSECRET": " account ",
            "RECEIPT_BRIDGE_APP_BUNDLEID": "com.example.app",
            "RECEIPT_BRIDGE_APP_SHAREDSECRET_FILE": secret, "RECEIPT_BRIDGE_APP_APPAPPLEID": "7",
            "RECEIPT_BRIDGE_APP_CLIENTPASSWORD": "required", "RECEIPT_BRIDGE_APP_ANSWER": "apple, receipt",
            "RECEIPT_BRIDGE_UPSTREAM_VERIFYRECEIPT_PRODUCTION": "https://example.com/p",
            "RECEIPT_BRIDGE_APP_SANDBOX": "",
        ]
        let settings = try configuration(yaml, in: folder, environment: environment)
        #expect(settings.listen.port == 2 && settings.operationsListen.port == 3)
        #expect(settings.unknownApps == .pass && settings.sharedSecret == SharedSecret("account"))
        #expect(settings.verifyReceipt.production == "https://example.com/p")
        #expect(settings.apps.count == 2)
        #expect(settings.apps[0].sharedSecret == SharedSecret("from-file") && settings.apps[0].appAppleId == 7)
        #expect(settings.apps[0].clientPassword == .required && settings.apps[0].sandbox == .deny)
        #expect(settings.apps[0].answer == [.apple, .receipt])
        let flagged = try configuration(yaml, in: folder, environment: environment, flags: [{ $0.listen.port = 4 }])
        #expect(flagged.listen.port == 4)
    }

    @Test("One app can be configured by the environment alone, and needs its bundle id")
    func environmentAlone() throws {
        let one = try ConfigurationEnvironment.settings(
            file: nil,
            environment: [
                "RECEIPT_BRIDGE_APP_BUNDLEID": "com.example.app", "RECEIPT_BRIDGE_APP_SHAREDSECRET": "s",
                "RECEIPT_BRIDGE_CONFIG": "",
            ], checks: .server)
        #expect(one.apps.map(\.sharedSecret) == [SharedSecret("s")])
        let found = findings(environment: [
            "RECEIPT_BRIDGE_APP_SANDBOX": "deny", "RECEIPT_BRIDGE_UNKNOWNAPPS": "perhaps",
            "RECEIPT_BRIDGE_SHAREDSECRET_FILE": "/nowhere",
        ])
        #expect(found?.count == 3, "\(found ?? [])")
        let mistakes = findings(environment: [
            "RECEIPT_BRIDGE_APP_BUNDLEID": "com.example.app", "RECEIPT_BRIDGE_APP_ANSWER": "oracle",
            "RECEIPT_BRIDGE_APP_APPAPPLEID": "x", "RECEIPT_BRIDGE_APP_CLIENTPASSWORD": "never",
        ])
        #expect(mistakes?.count == 3)
    }

    /// That each variable sets its key is tested in ``ConfigurationKeysTests``.
    @Test(
        "Variables without a file configure one app and the server; unknown ones are noted, and their mistakes reported"
    )
    func withoutFile() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let environment = [
            "APP_BUNDLEID": "com.example.app", "APP_SHAREDSECRET_FILE": try folder.write("s", "secret\n"),
            "APP_ACCEPTEDSECRETS": "former", "APP_SANDBOX_TESTERS": "2000000000000001", "APP_ANSWER": "stored,api",
            "APP_SERVERAPI_ISSUERID": "i", "APP_SERVERAPI_KEYID": "k",
            "APP_SERVERAPI_PRIVATEKEY_FILE": try folder.write("k.p8", "key"), "STORE": "sqlite:/tmp/e.sqlite",
            "TOKENS_FILE": try folder.write("t", "token-of-16-bytes\nanother-16-bytes\n"),
            "DATABASE_PASSWORD_FILE": try folder.write("p", "pw\n"), "DATABASE_PASSWORD_FILE_2": "/nowhere",
            // Variables that Kubernetes sets for a service named receipt-bridge, and a misspelled one.
            "SERVICE_HOST": "10.0.0.1", "PORT": "tcp://10.0.0.1:80", "PORT_80_TCP": "x", "LISTN": "y",
        ].reduce(into: [String: String]()) { $0["RECEIPT_BRIDGE_" + $1.key] = $1.value }
        let settings = try ConfigurationEnvironment.settings(file: nil, environment: environment, checks: .server)
        #expect(settings.store?.path == "/tmp/e.sqlite" && settings.database.library == "libpq.so.5")
        #expect(settings.tokens.map { $0.reveal() } == ["token-of-16-bytes", "another-16-bytes"])
        #expect(try settings.database.password?.password() == "pw")
        let app = try #require(settings.apps.first)
        #expect(
            settings.apps.count == 1 && app.sharedSecret == SharedSecret("secret") && app.answer == [.stored, .api])
        #expect(app.acceptedSecrets == [SharedSecret("former")] && app.serverAPI?.issuerId == "i")
        #expect(app.testers == SandboxAllowlist(["2000000000000001"]))
        #expect(settings.unknownVariables.map(\.name) == ["RECEIPT_BRIDGE_LISTN"])
        #expect(settings.unknownVariables.map(\.question) == [". Did you mean RECEIPT_BRIDGE_LISTEN?"])
        #expect(settings.secretFiles.map(\.key).contains("RECEIPT_BRIDGE_APP_SHAREDSECRET_FILE"))

        let found = findings(environment: [
            "RECEIPT_BRIDGE_STORE": "postgres://u:canary@h/d", "RECEIPT_BRIDGE_TOKENS_FILE": "/nowhere",
            "RECEIPT_BRIDGE_APP_BUNDLEID": "com.example.app", "RECEIPT_BRIDGE_APP_CACHESECONDS": "9999",
            "RECEIPT_BRIDGE_APP_SERVERAPI_KEYID": "k", "RECEIPT_BRIDGE_UPSTREAM_PROXY": "u:canary@h",
        ])
        #expect(
            found == [
                "RECEIPT_BRIDGE_STORE: the address contains a password; remove it and name a file in database.password instead",
                "RECEIPT_BRIDGE_TOKENS_FILE: cannot read /nowhere: there is no such file",
                "RECEIPT_BRIDGE_APP_CACHESECONDS: 9999 is not in the range 0 to 3600",
                "RECEIPT_BRIDGE_APP_SERVERAPI: expected issuerId, keyId and privateKey",
                "RECEIPT_BRIDGE_UPSTREAM_PROXY: expected http://HOST:PORT or https://HOST:PORT",
            ])
    }

    @Test("Limits, trusted proxies, testers and replay detection are read")
    func guarding() throws {
        #expect(
            ProxyConfiguration().limits == Limits() && Limits().requestsPerMinute == nil
                && Limits().connections == 10_000)
        let app = "bundleId: a.b"
        let key = "serverAPI: {issuerId: i, keyId: k, privateKey: {env: K}}"
        let token = "6f1d1b9a-0000-4000-8000-000000000001"
        let settings = try configuration(
            "apps: [{\(app), \(key), sandbox: {testers: [\"2000000000000001\", \(token)]}}]", in: TemporaryFolder(),
            environment: ["K": "k"])
        #expect(settings.apps[0].testers == SandboxAllowlist(["2000000000000001", token.uppercased()]))
    }

    static let networkSamples: [(range: String, inside: [String], outside: [String])] = [
        ("10.0.0.0/8", ["10.0.0.0", "10.255.1.2"], ["11.0.0.0", "9.255.255.255", "::a00:1"]),
        ("192.0.2.7", ["192.0.2.7", "::ffff:192.0.2.7"], ["192.0.2.6"]),
        ("0.0.0.0/0", ["1.2.3.4"], ["::1"]), ("::/0", ["::1", "2001:db8::"], ["1.2.3.4"]),
        ("2001:db8::/33", ["2001:db8:7fff::1"], ["2001:db8:8000::1"]),
        ("2001:db8::1", ["2001:db8::1"], ["2001:db8::2"]),
        ("2001:db8::/96", ["2001:db8::ffff:ffff"], ["2001:db8:0:0:0:1::"]),
    ]

    @Test("A network contains exactly its addresses", arguments: networkSamples)
    func networks(_ sample: (range: String, inside: [String], outside: [String])) throws {
        let range = try #require(AddressRange(sample.range))
        for text in sample.inside { #expect(AddressRange.Address(text).map(range.contains) == true, "\(text)") }
        for text in sample.outside { #expect(AddressRange.Address(text).map(range.contains) == false, "\(text)") }
        for text in ["", "/8", "10.0.0.0/", "10.0.0/8", "10.0.0.0/8/8", "10.0.0.0/-1", "a.example", "::/129"] {
            #expect(AddressRange(text) == nil, "\(text)")
        }
    }

    @Test("A reload adds and removes apps, and keeps the keys that need a restart")
    func changes() throws {
        let folder = try TemporaryFolder()
        try folder.write("token", "a-token-of-16-bytes")
        let old = try configuration(
            "listen: 127.0.0.1:1\napps: [{bundleId: a.b, sandbox: deny}, {bundleId: a.c}]", in: folder)
        let new = try configuration(
            "{listen: 127.0.0.1:2, store: none, tokens: [{file: token}], apps: [{bundleId: a.b}, {bundleId: a.d}]}",
            in: folder)
        let changes = ConfigurationDiff(from: old, to: new)
        #expect(changes.applied == ["tokens", "apps[a.b].sandbox", "apps[a.c]: removed", "apps[a.d]: added"])
        #expect(changes.needRestart == ["listen", "store"])
        let merged = new.keepingFixedKeys(of: old)
        #expect(merged.listen.port == 1 && merged.store == old.store && merged.tokens == new.tokens)
        #expect(ConfigurationDiff(from: old, to: old) == ConfigurationDiff(from: new, to: new))
    }

    @Test("The key `mappings` loads field tables, which are validated completely")
    func mappings() throws {
        let folder = try TemporaryFolder()
        let tables = Repository.folder.appending(path: "Mappings")
        for file in FieldTables.fileNames {
            try folder.write("tables/\(file)", try Data(contentsOf: tables.appending(path: file)))
        }
        let settings = try configuration("mappings: tables", in: folder)
        #expect(settings.mappings?.hasSuffix("/tables") == true)
        let answer = try String(contentsOf: folder.url.appending(path: "tables/answer.json"), encoding: .utf8)
        try folder.write("tables/answer.json", answer.replacing("latest_receipt_info", with: "latest_rows"))
        let changed = try configuration("mappings: tables", in: folder).tables
        #expect(changed.answer.rows.contains { $0.wire == "latest_rows" })
        try folder.write("tables/answer.json", "{")
        try FileManager.default.removeItem(at: folder.url.appending(path: "tables/renewal.json"))
        let error = #expect(throws: ConfigurationError.self) { try configuration("mappings: tables", in: folder) }
        #expect(error?.findings.count == 2, "\(error?.findings ?? [])")
        #expect(error?.findings.allSatisfy { $0.hasPrefix("bridge.yaml: mappings: ") } == true)
    }

    @Test("RECEIPT_BRIDGE_CONFIG names the file unless a flag does")
    func configVariable() throws {
        let folder = try TemporaryFolder()
        let (a, b) = (
            try folder.write("a.yaml", "listen: 127.0.0.1:1"),
            try folder.write("b.yaml", "listen: 127.0.0.1:2")
        )
        let environment = ["RECEIPT_BRIDGE_CONFIG": a]
        #expect(
            try ConfigurationEnvironment.settings(file: nil, environment: environment, checks: .server).listen.port == 1
        )
        #expect(
            try ConfigurationEnvironment.settings(file: URL(filePath: b), environment: environment, checks: .server)
                .listen.port == 2)
    }

    @Test("A secret of whitespace in the environment is an error", arguments: ["\n", " ", "\r\n\t"])
    func blankSecrets(blank: String) throws {
        let found = findings(environment: [
            "RECEIPT_BRIDGE_SHAREDSECRET": blank, "RECEIPT_BRIDGE_APP_BUNDLEID": "com.example.app",
            "RECEIPT_BRIDGE_APP_SHAREDSECRET": blank, "RECEIPT_BRIDGE_APP_ACCEPTEDSECRETS": blank,
            "RECEIPT_BRIDGE_APP_SERVERAPI_ISSUERID": "i", "RECEIPT_BRIDGE_APP_SERVERAPI_KEYID": "k",
            "RECEIPT_BRIDGE_APP_SERVERAPI_PRIVATEKEY": blank,
        ])
        #expect(
            found?.sorted() == [
                "RECEIPT_BRIDGE_APP_ACCEPTEDSECRETS: is empty", "RECEIPT_BRIDGE_APP_SERVERAPI_PRIVATEKEY: is empty",
                "RECEIPT_BRIDGE_APP_SHAREDSECRET: is empty",
                "RECEIPT_BRIDGE_SHAREDSECRET: is empty",
            ])
    }

    static let addresses: [(String, ProxyConfiguration.Address?)] = [
        ("127.0.0.1:8080", .init(host: "127.0.0.1", port: 8080)), ("[::]:8080", .init(host: "::", port: 8080)),
        ("[::1]:0", .init(host: "::1", port: 0)), ("localhost:65535", .init(host: "localhost", port: 65_535)),
        ("::1:8080", nil), (":8080", nil), ("8080", nil), ("localhost", nil), ("localhost:", nil),
        ("localhost:65536", nil), ("localhost:-1", nil), ("[]:1", nil), ("", nil),
    ]

    @Test("Addresses are HOST:PORT, with IPv6 in brackets", arguments: addresses)
    func address(text: String, expected: ProxyConfiguration.Address?) {
        #expect(ProxyConfiguration.Address(text) == expected)
        if let expected { #expect(expected.description == text) }
    }

    @Test("A printed configuration contains no secret")
    func secrecy() throws {
        let folder = try TemporaryFolder()
        let settings = try configuration(
            "apps: [{bundleId: a.b, sharedSecret: {env: S}, acceptedSecrets: [{env: S}]}]\nsharedSecret: {env: S}",
            in: folder, environment: ["S": "canary"])
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(!dumped.contains("canary") && !"\(settings)".contains("canary"))
    }
}
