import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Configuration findings")
struct ConfigurationFindingsTests {
    private static let upstream =
        #"upstream: {verifyReceipt: {production: "http://127.0.0.1:1/v", sandbox: "http://127.0.0.1:2/v"}}"#
    private static let app = "bundleId: com.example.app"

    // MARK: - All findings

    @Test("Mistakes in keys and broken rules across keys are reported together")
    func together() throws {
        let yaml = """
            listen: 127.0.0.1:7000
            operations: {listen: "127.0.0.1:7000"}
            deadlineSeconds: 99
            upstream: {proxy: x, verifyReceipt: {production: x}}
            userHeader: "a b"
            apps:
              - {bundle: com.example.app, colour: red, cacheSeconds: 9999}
            """
        #expect(
            try findings(yaml) == [
                "deadlineSeconds: 99 is not in the range 1 to 30", "apps[0].bundleId: missing",
                "apps[0].cacheSeconds: 9999 is not in the range 0 to 3600",
                "apps[0].bundle: unknown key. Did you mean bundleId?",
                "apps[0].colour: unknown key",
                "upstream.verifyReceipt.production: x: the URL must begin with https:// or http://",
                "operations.listen: 127.0.0.1:7000 is already the address of listen",
                "upstream.proxy: expected http://HOST:PORT or https://HOST:PORT",
                "userHeader: a b is not a valid header name",
            ])
        // The requirements of a forwarding target are checked even if its password has a mistake, and those of test
        // roots even if the roots cannot be loaded.
        let target = #"{url: "https://a.example", as: v1, password: {file: no.txt}}"#
        #expect(
            try findings("{store: none, apps: [{\(Self.app), forward: [\(target)]}]}") == [
                "apps[0].forward[0].password: cannot read no.txt: there is no such file",
                "apps[0].forward: needs a store",
                "apps[0].forward: v1 needs serverAPI with issuerId, keyId and privateKey",
            ])
        #expect(
            try findings("{trust: {roots: [nowhere]}, listen: \"0.0.0.0:1\", \(Self.upstream)}") == [
                "trust.roots: cannot read nowhere: there is no such file",
                "listen: trust.roots is for simulators, so 0.0.0.0:1 must be on loopback",
            ])
    }

    // T34
    @Test("No secret of the configuration has a second use")
    func twoUses() throws {
        let folder = try TemporaryFolder()
        let secret = "0123456789abcdef0123456789abcdef"
        try folder.write("secret.txt", "\u{FEFF}0123456789abcdef\r\n0123456789abcdef\n")
        try folder.write("key.p8", "-----BEGIN PRIVATE KEY-----\n\(secret)\n-----END PRIVATE KEY-----\n")
        let environment = ["KEY": secret, "OTHER": "another-secret", "THIRD": "a-third-secret-which-is-as-long"]
        func app(_ keys: String) -> String { "apps: [{\(Self.app), \(keys)}]" }
        let proxy = "upstream: {proxy: \"http://user:\(secret)@proxy.example:1\"}"
        let uses = [
            ("sharedSecret", "sharedSecret: {env: KEY}"), ("apps[0].sharedSecret", app("sharedSecret: {env: KEY}")),
            ("apps[0].acceptedSecrets[1]", app("acceptedSecrets: [{env: OTHER}, {env: KEY}]")),
            (
                "apps[0].forward[0].secret",
                app("forward: [{url: \"https://a.example\", as: raw, secret: {env: KEY}}]")
            ),
            ("apps[0].serverAPI.privateKey", app("serverAPI: {issuerId: a, keyId: b, privateKey: {file: key.p8}}")),
            ("upstream.proxy", proxy), ("database.password", "database: {password: {env: KEY}}"),
            ("database.password", "database: {password: {file: secret.txt}}"),
        ]
        let new = "set another one, for example from: openssl rand -hex 32"
        let (tokens, target) = ("\(new), here and in its clients", "\(new), here and at the target")
        for (place, yaml) in uses {
            let list = "tokens: [{env: THIRD}, {env: KEY}]\n"
            #expect(
                try findings(list + yaml, in: folder, environment: environment)
                    == ["tokens[1]: is also \(place): \(tokens)"])
            #expect(try findings("tokens: [{env: THIRD}]\n\(yaml)", in: folder, environment: environment) == [])
        }
        // Different uses of one shared secret are one purpose.
        let same = "sharedSecret: {env: KEY}\n" + app("sharedSecret: {env: KEY}, acceptedSecrets: [{env: KEY}]")
        #expect(try findings(same, environment: environment) == [])
        let rows = [
            (
                app("forward: [{url: \"https://a.example\", as: raw, secret: {env: KEY}}], sharedSecret: {env: KEY}"),
                "apps[0].forward[0].secret: is also apps[0].sharedSecret: \(target)"
            ),
            (
                "database: {password: {env: KEY}}\nsharedSecret: {env: KEY}",
                "database.password: is also sharedSecret: change this password"
            ),
        ]
        for (yaml, finding) in rows { #expect(try findings(yaml, environment: environment) == [finding]) }
        let variables = ["RECEIPT_BRIDGE_SHAREDSECRET": secret, "RECEIPT_BRIDGE_TOKENS": secret]
        #expect(
            try findings("", environment: variables)
                == ["(RECEIPT_BRIDGE_TOKENS: is also RECEIPT_BRIDGE_SHAREDSECRET: \(tokens))"])
    }

    @Test("A private key is no other secret, and a shared secret is one line of text")
    func secretForms() throws {
        let folder = try TemporaryFolder()
        let pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
        let secret = "0123456789abcdef0123456789abcdef"
        func app(_ keys: String) -> String { "apps: [{\(Self.app), \(keys)}]" }
        let forward = "forward: [{url: \"https://a.example\", as: v1,"
        let places = [
            ("sharedSecret", "sharedSecret: {file: s}", true),
            ("apps[0].sharedSecret", app("sharedSecret: {file: s}"), true),
            ("apps[0].acceptedSecrets[0]", app("acceptedSecrets: [{file: s}]"), true),
            ("tokens[0]", "tokens: [{file: s}]", false),
            ("database.password", "database: {password: {file: s}}", false),
            ("apps[0].forward[0].password", app("\(forward) password: {file: s}}]"), true),
            ("apps[0].forward[0].secret", app("\(forward) secret: {file: s}}]"), false),
        ]
        let line = "is not one line of UTF-8 text without control characters"
        let texts: [(bytes: [UInt8], finding: String, isForLines: Bool)] = [
            (Array(pem.utf8), "is a private key", false), (Array("\(secret)\n\(secret)".utf8), line, true),
            (Array("01234567\u{0}89abcdef".utf8), line, true), (Array("0123\u{1B}[0m456789abcdef".utf8), line, true),
            // UTF-16, as PowerShell writes it, and ISO 8859-1.
            ([0xFF, 0xFE] + secret.utf8.flatMap { [$0, 0] }, line, true), (Array(secret.utf8) + [0xE9], line, true),
        ]
        for (bytes, finding, isForLines) in texts {
            try folder.write("s", bytes)
            for (key, yaml, isLine) in places where isLine || !isForLines {
                let found = try findings(yaml, in: folder).filter { $0.hasPrefix("\(key): ") }
                #expect(found == ["\(key): s \(finding)"], "\(yaml) \(bytes)")
            }
        }
        let variable = "RECEIPT_BRIDGE_SHAREDSECRET"
        #expect(try findings("", environment: [variable: pem]) == ["(\(variable): is a private key)"])
        #expect(
            try findings("sharedSecret: {env: KEY}", environment: ["KEY": "a\u{7}b"])
                == ["sharedSecret: environment variable KEY \(line)"])
    }

    @Test("A byte order mark before a secret, a key or the configuration is removed")
    func byteOrderMarks() throws {
        let folder = try TemporaryFolder()
        for (name, text) in [("s", "0123456789abcdef"), ("t", "token-of-16-bytes-or-more")] {
            try folder.write(name, "\u{FEFF}\(text)\r\n")
        }
        try folder.write("bridge.yaml", "\u{FEFF}sharedSecret: {file: s}\ntokens: [{file: t}, {env: KEY}]\nstore: none")
        let settings = try ConfigurationEnvironment.settings(
            file: URL(filePath: folder.path("bridge.yaml")), environment: ["KEY": "\u{FEFF}another-token-of-16"],
            checks: .server)
        #expect(settings.sharedSecret?.reveal() == "0123456789abcdef")
        #expect(settings.tokens.map { $0.reveal() } == ["token-of-16-bytes-or-more", "another-token-of-16"])
        try folder.write("p", "\u{FEFF}password\n")
        #expect(try SecretSource.file(path: folder.path("p")).password() == "password")
    }

    @Test("A finding names the environment variable or flag that set the value")
    func places() throws {
        let folder = try TemporaryFolder()
        try folder.write("root.cer", try SharedSimulator.pki.root.certificate)
        let yaml = "trust: {roots: [root.cer]}\noperations: {listen: \"0.0.0.0:2\"}\nunknown: 1"
        let environment = [
            "RECEIPT_BRIDGE_UPSTREAM_VERIFYRECEIPT_PRODUCTION": "ftp://x/",
            "RECEIPT_BRIDGE_UPSTREAM_VERIFYRECEIPT_SANDBOX": "https://b.example/v",
            "RECEIPT_BRIDGE_USERHEADER": "a b",
        ]
        let found = try findings(
            yaml, in: folder, environment: environment,
            flags: [{ $0.listen = ProxyConfiguration.Address(host: "0.0.0.0", port: 1) }])
        #expect(
            found == [
                "unknown: unknown key",
                "(RECEIPT_BRIDGE_UPSTREAM_VERIFYRECEIPT_PRODUCTION: ftp://x/: the URL must begin with https:// or "
                    + "http://)",
                "(--listen: trust.roots is for simulators, so 0.0.0.0:1 must be on loopback)",
                "operations.listen: trust.roots is for simulators, so 0.0.0.0:2 must be on loopback",
                "(RECEIPT_BRIDGE_USERHEADER: a b is not a valid header name)",
            ])
    }

    @Test(
        "An operations listener that is not on loopback needs tokens",
        arguments: ["0.0.0.0:8081", "[::]:8081", "192.0.2.1:8081", "bridge.example:8081"])
    func operationsWithoutTokens(address: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("token.txt", "Zm9ydHktdHdvIGJ5dGVz")
        let yaml = "operations: {listen: \"\(address)\"}\n"
        let expected =
            "operations.listen: \(address) is not on loopback and there are no tokens: set tokens, otherwise every client that "
            + "reaches it can read the data of every customer"
        #expect(try findings(yaml, in: folder) == [expected])
        #expect(try findings(yaml + "tokens: []", in: folder) == [expected])
        #expect(try findings(yaml + "tokens: [{file: token.txt}]", in: folder) == [])
        // Only the finding for the tokens is reported.
        #expect(try findings(yaml + "tokens: [{file: nowhere.txt}]", in: folder).count == 1)
        #expect(
            try findings("store: none", in: folder, environment: ["RECEIPT_BRIDGE_OPERATIONS_LISTEN": address])
                == ["(RECEIPT_BRIDGE_OPERATIONS_LISTEN\(expected.dropFirst("operations.listen".count)))"])
        for address in ["127.0.0.1:8081", "127.9.9.9:8081", "[::1]:8081", "localhost:8081"] {
            #expect(try findings("operations: {listen: \"\(address)\"}", in: folder) == [])
        }
    }

    /// A key with a mistake keeps its default, which must not cause further findings. `@app` is a bundle id, `@key` a
    /// key of the Server API, and `@url` a forwarding target's address.
    private static let mistakes = tableRows(
        #"""
        {listen: 8080, operations: {listen: "127.0.0.1:8080"}} → listen: 8080 is not HOST:PORT, for example 127.0.0.1:8080
        listn: x → listn: unknown key. Did you mean listen?
        operations: {port: 1} → operations.port: unknown key
        profile: lenient → profile: lenient is not one of apple, tolerant
        unknownApps: maybe → unknownApps: maybe is not one of pass, refuse
        outageStatus: 21004 → outageStatus: 21004: expected 21005, 21100 to 21199, 503
        lastGood: {days: 366} → lastGood.days: 366 is not in the range 0 to 365
        lastGood: {megabytes: 0} → lastGood.megabytes: 0 is not in the range 1 to 1000000
        lastGood: {hours: 1} → lastGood.hours: unknown key
        trust: {leaves: []} → trust.leaves: unknown key
        upstream: {verifyReceipt: {staging: x}} → upstream.verifyReceipt.staging: unknown key
        upstream: {apple: y} → upstream.apple: unknown key
        upstream: {proxy: "u:canary@h"} → upstream.proxy: expected http://HOST:PORT or https://HOST:PORT
        limits: {requestsPerMinute: 0} → limits.requestsPerMinute: 0 is not in the range 1 to 1000000
        limits: {perSecond: 1} → limits.perSecond: unknown key
        trustedProxies: [10.0.0.0/33] → trustedProxies: 10.0.0.0/33 is neither an IP address nor a network, for example 10.0.0.0/8
        trustedProxies: [proxy.example] → trustedProxies: proxy.example is neither an IP address nor a network, for example 10.0.0.0/8
        userHeader: "X User" → userHeader: X User is not a valid header name
        {userHeader: [x], apps: [{@app, replay: refuse}]} → userHeader: expected the name of a header
        store: postgres://db/receipts → store: the address names no user, for example postgresql://bridge@db/receipts
        {store: mysql, apps: [{@app, answer: [stored]}]} → store: expected sqlite:PATH, postgresql://USER@HOST/DATABASE, or none
        {store: mysql, apps: [{@app, forward: [{@url, as: raw}]}]} → store: expected sqlite:PATH, postgresql://USER@HOST/DATABASE, or none
        {store: none, reconcile: {window: 12h}} → store: none, but reconcile is set
        reconcile: {window: 31d} → reconcile.window: 31d: expected 1h to 720h or 1d to 30d
        reconcile: {window: 3} → reconcile.window: 3: expected 1h to 720h or 1d to 30d
        reconcile: {at: "24:00"} → reconcile.at: 24:00: expected a time of day in UTC, for example "04:00"
        reconcile: {every: 3d} → reconcile.every: unknown key
        retention: {notifications: 0} → retention.notifications: 0: expected 1 to 36500 days, or forever
        retention: {notifications: [9]} → retention.notifications: expected 1 to 36500 days, or forever
        retention: {customers: 29} → retention.customers: 29: expected 30 to 36500 days, or forever
        retention: {refunds: long} → retention.refunds: long: expected 1 to 36500 days, or forever
        retention: {renewalExtensions: 365} → retention.renewalExtensions: remove this key: extensions are not stored, the App Store counts them
        retention: {orders: 1} → retention.orders: remove this key: lookups of orders are not stored
        retention: {cookies: 1} → retention.cookies: unknown key
        handleKeys: [{env: KEY}] → handleKeys: remove this key: handles of version 0.1.0 are not accepted, and `latest_receipt` is a signed transaction
        {store: none, apps: [{@app, rollout: {source: stored, percent: 5, stopAt: 0.5}}]} → apps[0].rollout: needs store, which keeps the customers that were compared and whether it stopped
        {store: none, apps: [{@app, forward: [{@url, as: raw}]}]} → apps[0].forward: needs a store
        {sharedSecret: {env: SECRET}, apps: [{@app, @key, forward: [{@url, as: v1}]}]} → nothing
        apps: [com.example.app] → apps[0]: expected keys and values
        apps: [{bundleId: [x]}] → apps[0].bundleId: expected a bundle id, for example com.example.app
        apps: [{@app}, {@app}] → apps[1].bundleId: com.example.app is configured twice
        sharedSecret: canary → sharedSecret: expected {file: path} or {env: NAME}
        sharedSecret: [canary] → sharedSecret: expected {file: path} or {env: NAME}
        sharedSecret: {} → sharedSecret: expected {file: path} or {env: NAME}
        sharedSecret: {file: [canary]} → sharedSecret.file: expected text
        sharedSecret: {file: s, env: KEY} → sharedSecret.env: unknown key
        sharedSecret: {file: blank} → sharedSecret: blank is empty
        sharedSecret: {file: folder.txt} → sharedSecret: cannot read folder.txt: this is a directory
        sharedSecret: {file: none.txt} → sharedSecret: cannot read none.txt: there is no such file
        sharedSecret: {env: BLANK} → sharedSecret: environment variable BLANK is unset or empty
        sharedSecret: {env: NONE} → sharedSecret: environment variable NONE is unset or empty
        tokens: x → tokens: expected a list
        tokens: [canary] → tokens[0]: expected {file: path} or {env: NAME}
        tokens: [{file: blank}] → tokens[0]: blank is empty
        tokens: [{env: BLANK}] → tokens[0]: environment variable BLANK is unset or empty
        """#)

    @Test("A mistake is reported once, without findings that only follow from it", arguments: mistakes)
    func once(yaml: String, expected: String) throws {
        let found = try one(yaml)
        #expect(found == (expected.isEmpty ? [] : [expected]))
    }

    /// The keys of an app, and the finding without `apps[0].`.
    private static let appMistakes = tableRows(
        #"""
        appAppleId: many → appAppleId: many is not a whole number
        sharedSecret: {file: none.txt} → sharedSecret: cannot read none.txt: there is no such file
        acceptedSecrets: [canary] → acceptedSecrets[0]: expected {file: path} or {env: NAME}
        serverAPI: 5 → serverAPI: expected keys and values
        serverAPI: {keyId: k, privateKey: {env: KEY}} → serverAPI: expected issuerId, keyId and privateKey
        answer: [api], serverAPI: {issuerId: "", keyId: k, privateKey: {env: KEY}} → serverAPI.issuerId: expected text
        answer: [api], serverAPI: {issuerId: i, keyId: k, privateKey: {env: KEY}, keyID: k} → serverAPI.keyID: unknown key
        shadow: api, serverAPI: {issuerId: i, keyId: k, privateKey: canary} → serverAPI.privateKey: expected {file: path} or {env: NAME}
        answer: [oracle] → answer: oracle is not one of apple, api, receipt, stored
        answer: [[api]] → answer: expected a list of texts
        replay: refuse → replay: refuse needs userHeader, because nothing else names a user
        sandbox: maybe → sandbox: maybe is not one of allow, deny, {testers: [id, …]}
        sandbox: [maybe] → sandbox: expected one of allow, deny, {testers: [id, …]}
        sandbox: {testers: 5} → sandbox.testers: expected a list
        sandbox: {testers: []} → sandbox.testers: expected at least one tester; to allow none, use deny
        sandbox: {testers: [me]} → sandbox.testers: me is neither a transaction id nor an appAccountToken
        sandbox: {testers: [6f1d1b9a-0000-4000-8000-000000000001]} → sandbox.testers: an appAccountToken needs serverAPI, because receipts do not contain it
        shadow: api → shadow: api needs serverAPI with issuerId, keyId and privateKey
        shadow: apple → shadow: apple is the first source of answer already; shadow must name another one
        shadow: receipt → shadow: receipt is not one of none, apple, api
        shadowSampling: 2 → shadowSampling: 2 is not in the range 0 to 1
        shadowSampling: half → shadowSampling: half is not in the range 0 to 1
        comparisonRules: {ordr: ignore} → comparisonRules.ordr: unknown key. Did you mean order?
        comparisonRules: {order: maybe} → comparisonRules.order: maybe is not one of expected, unexpected, ignore
        rollout: {source: stored, percent: 5} → rollout: expected source, percent and stopAt
        rollout: {source: stored, percent: 101, stopAt: 1} → rollout.percent: 101 is not in the range 0 to 100
        rollout: {source: apple, percent: 5, stopAt: 1} → rollout.source: apple is not one of api, stored
        rollout: {source: api, percent: 5, stopAt: 1} → rollout: api needs serverAPI with issuerId, keyId and privateKey
        answer: [receipt], rollout: {source: stored, percent: 5, stopAt: 1} → rollout: answer must begin with apple, because the responses are compared with Apple's
        forward: {@url, as: raw} → forward: expected a list
        forward: [x] → forward[0]: expected keys and values
        forward: [{as: raw}] → forward[0].url: missing
        forward: [{url: [x], as: raw}] → forward[0].url: expected a URL
        forward: [{url: "http://a.example", as: raw}] → forward[0].url: plain http is allowed only to loopback addresses; use https
        forward: [{url: "ftp://a.example", as: raw}] → forward[0].url: the URL must begin with https:// or http://
        forward: [{url: "https://u:p@a.example", as: raw}] → forward[0].url: the URL is longer than 8192 bytes or has a character that must be escaped
        forward: [{@url}] → forward[0].as: expected raw, camel or v1
        forward: [{@url, as: xml}] → forward[0].as: xml is not one of raw, camel, v1
        forward: [{@url, as: raw, to: x}] → forward[0].to: unknown key
        forward: [{@url, as: raw, secret: {env: NONE}}] → forward[0].secret: environment variable NONE is unset or empty
        forward: [{@url, as: raw, secret: x}] → forward[0].secret: expected {file: path} or {env: NAME}
        forward: [{@url, as: raw, concurrency: 0}] → forward[0].concurrency: 0 is not in the range 1 to 512
        forward: [{@url, as: raw, password: {env: KEY}}] → forward[0].password: needs as: v1
        forward: [{@url, as: camel, v1Profile: current}] → forward[0].v1Profile: needs as: v1
        forward: [{@url, as: raw, latestReceipt: absent}] → forward[0].latestReceipt: needs as: v1
        forward: [{@url, as: camel, numbers: true}] → forward[0].numbers: needs as: v1
        @key, forward: [{@url, as: v1, password: {env: NONE}}] → forward[0].password: environment variable NONE is unset or empty
        @key, forward: [{@url, as: v1, password: {env: KEY}, latestReceipt: handle}] → forward[0].latestReceipt: handle is not one of transaction, absent
        @key, forward: [{@url, as: v1, password: {env: KEY}, numbers: 1}] → forward[0].numbers: 1 is not one of true, false
        @key, forward: [{@url, as: v1}] → forward: v1 needs a password, or the app's sharedSecret
        sharedSecret: {env: KEY}, forward: [{@url, as: v1}] → forward: v1 needs serverAPI with issuerId, keyId and privateKey
        forward: [{@url, as: raw}, {@url, as: raw}] → forward[1]: duplicate target: same url and form
        """#)

    @Test("A mistake in an app or in one of its forwarding targets is reported once", arguments: appMistakes)
    func onceInApp(keys: String, expected: String) throws {
        let found = try one("{apps: [{@app, \(keys)}]}")
        #expect(found == ["apps[0].\(expected)"])
    }

    /// The findings of a row of the tables.
    private func one(_ yaml: String) throws -> [String] {
        let folder = try TemporaryFolder()
        try folder.write("blank", " \n")
        try folder.write("s", "secret")
        try folder.write("folder.txt/a", [])
        return try findings(
            yaml.replacing("@app", with: Self.app).replacing("@url", with: #"url: "https://a.example""#)
                .replacing("@key", with: "serverAPI: {issuerId: i, keyId: k, privateKey: {env: KEY}}"),
            in: folder, environment: ["KEY": "k", "SECRET": "s", "BLANK": "  \n"])
    }

    @Test(
        "A token that cannot be sent or is easily guessed is a finding that does not show it",
        arguments: [
            "15-characters-x", "0123456789abcdef\nline-two", "0123456789 abcdef", "0123456789abcdeü",
            "\0123456789abcdef",
        ])
    func weakTokens(token: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("token.txt", token)
        let reason = "tokens: a token is not one line of at least 16 visible ASCII characters"
        #expect(try findings("tokens: [{file: token.txt}]", in: folder) == [reason])
        try folder.write("token.txt", "16-characters-xx\n")
        #expect(try findings("tokens: [{file: token.txt}]", in: folder) == [])
    }

    // MARK: - Values and expected values

    static let kinds: [String: String] = [
        "deadlineSeconds": "a whole number", "listen": "HOST:PORT", "profile": "one of apple, tolerant",
        "store": "sqlite:PATH, postgresql://USER@HOST/DATABASE, or none", "mappings": "a directory",
        "userHeader": "the name of a header",
    ]

    @Test("A list, a mapping or an empty text is reported with the expected value", arguments: kinds)
    func kind(key: String, expected: String) throws {
        for value in ["[9]", "{a: 9}", "\"\""] {
            #expect(try findings("\(key): \(value)") == ["\(key): expected \(expected)"], "\(value)")
        }
    }

    /// A URL of an upstream, and the finding; plain http is for loopback only.
    private static let urls = tableRows(
        """
        http://127.0.0.1:1/v → nothing
        http://localhost/v → nothing
        http://[::1]:8/v → nothing
        https://example.com/v → nothing
        verifyReceipt → verifyReceipt: the URL must begin with https:// or http://
        ftp://127.0.0.1/v → ftp://127.0.0.1/v: the URL must begin with https:// or http://
        https:// → https://: the URL has an invalid host or port
        http://127.example.com/v → http://127.example.com/v: plain http is allowed only to loopback addresses; use https
        http://10.0.0.1/v → http://10.0.0.1/v: plain http is allowed only to loopback addresses; use https
        http://a.example/v?key=canary → http://a.example/v: plain http is allowed only to loopback addresses; use https
        https://user@a.example/v → ***@a.example/v: the URL is longer than 8192 bytes or has a character that must be escaped
        https://u:canary@a.example/v → ***@a.example/v: the URL is longer than 8192 bytes or has a character that must be escaped
        https://u:can?/#ary@a.example/v → ***@a.example/v: the URL is longer than 8192 bytes or has a character that must be escaped
        """)

    @Test("A finding shows a URL without its user information and query", arguments: urls)
    func url(text: String, expected: String) throws {
        for key in ["upstream.verifyReceipt", "upstream.serverAPI"] {
            let found = try findings("\(key.replacing(".", with: ": {")): {production: \"\(text)\"}}")
            #expect(found == (expected.isEmpty ? [] : ["\(key).production: \(expected)"]))
        }
    }

    // MARK: - Certificates

    @Test("A finding names each unusable certificate file and each directory without certificates")
    func certificates() throws {
        let folder = try TemporaryFolder()
        try folder.write("root.cer", try SharedSimulator.pki.root.certificate)
        try folder.write("second.cer", "")
        try folder.write("many/a.cer", try SharedSimulator.pki.root.certificate)
        try folder.write("many/b.pem", "no certificate")
        try folder.write("none/README", "no certificate")
        let samples: [(key: String, list: String, expected: [String])] = [
            ("roots", "root.cer", []), ("roots", "many/a.cer, root.cer", []),
            ("roots", "root.cer, second.cer", ["second.cer cannot be used: certificate: truncated at byte 0"]),
            (
                "roots", "none, nowhere, root.cer",
                ["no certificate in none", "cannot read nowhere: there is no such file"]
            ),
            ("roots", "none/", ["no certificate in none/"]), ("intermediates", "none", ["no certificate in none"]),
        ]
        for sample in samples {
            let found = try findings("trust: {\(sample.key): [\(sample.list)]}\n\(Self.upstream)", in: folder)
            #expect(found == sample.expected.map { "trust.\(sample.key): \($0)" }, "\(sample.list)")
        }
        let found = try findings("trust: {roots: [many]}\n\(Self.upstream)", in: folder)
        #expect(found.count == 1 && found[0].hasPrefix("trust.roots: many/b.pem cannot be used: "), "\(found)")
        let environment = ["RECEIPT_BRIDGE_TRUST_ROOTS": folder.path("none")]
        #expect(
            try findings(Self.upstream, in: folder, environment: environment)
                == ["(RECEIPT_BRIDGE_TRUST_ROOTS: no certificate in none)"])
    }

    @Test("A symbolic link to a directory of certificates is followed")
    func linkedRoots() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path("roots"), withIntermediateDirectories: true)
        try folder.write("roots/a.cer", try SharedSimulator.pki.root.certificate)
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: "roots")
        for name in ["roots", "link", "link/"] {
            #expect(try findings("{trust: {roots: [\(name)]}, \(Self.upstream)}", in: folder).isEmpty, "\(name)")
        }
    }

    @Test(
        "A secret written instead of its file's path is not shown",
        arguments: [
            "-----BEGIN PRIVATE KEY-----\\nQ0FOQVJZ", "Q0FOQVJZ0123456789", "Q0FO\\nQVJZ", "Q0FO/QVJZ+==",
            "Q0FO.QVJZ0123456789",
        ])
    func secretForPath(secret: String) throws {
        let yaml = """
            sharedSecret: {file: "\(secret)"}
            tokens: [{file: "\(secret)"}]
            apps:
              - bundleId: com.example.app
                serverAPI: {issuerId: i, keyId: k, privateKey: {file: "\(secret)"}}
            """
        let plain = secret.replacing("\\n", with: "\n")
        let environment = [
            "RECEIPT_BRIDGE_APP_BUNDLEID": "com.example.other", "RECEIPT_BRIDGE_APP_SERVERAPI_ISSUERID": "i",
            "RECEIPT_BRIDGE_APP_SERVERAPI_KEYID": "k", "RECEIPT_BRIDGE_APP_SERVERAPI_PRIVATEKEY_FILE": plain,
            "RECEIPT_BRIDGE_APP_SHAREDSECRET_FILE": plain,
        ]
        let found = try findings(yaml, environment: environment)
        #expect(found.count == 5, "\(found)")
        for line in found {
            #expect(!line.contains("Q0FO") && !line.contains("QVJZ") && line.contains("file"), "\(line)")
        }
    }

    @Test("Every flag is checked, and a value that a flag overrides is not")
    func everyFlag() throws {
        let folder = try TemporaryFolder()
        try folder.write("root.cer", try SharedSimulator.pki.root.certificate)
        let yaml = "{trust: {roots: [root.cer]}, listen: \"0.0.0.0:1\", \(Self.upstream)}"
        let broken: ConfigurationEnvironment.Flag = { _ throws(ConfigurationError) in
            throw ConfigurationError(["--mappings: broken"])
        }
        let found = try findings(
            yaml, in: folder, flags: [broken, { $0.listen = ProxyConfiguration.Address(host: "127.0.0.1", port: 0) }])
        #expect(found == ["(--mappings: broken)"])
        let roots: ConfigurationEnvironment.Flag = { _ throws(ConfigurationError) in
            throw ConfigurationError(["--roots: broken"])
        }
        let both = try findings("{listen: \"0.0.0.0:1\", \(Self.upstream)}", flags: [roots, broken])
        #expect(
            both == [
                "(--roots: broken)", "(--mappings: broken)",
                "listen: trust.roots is for simulators, so 0.0.0.0:1 must be on loopback",
            ])
    }

    @Test("If one certificate of a directory is invalid, none of them is trusted")
    func trust() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        try folder.write("a.cer", try SharedSimulator.pki.root.certificate)
        var settings = ProxyConfiguration()
        try settings.trust(certificatesIn: folder.url, named: "roots")
        #expect(settings.trustedRoots.count == 1)
        try folder.write("b.cer", "x")
        settings = ProxyConfiguration()
        let error = #expect(throws: ConfigurationError.self) {
            try settings.trust(certificatesIn: folder.url, named: "roots")
        }
        #expect(error?.findings.count == 1 && error?.findings[0].hasPrefix("roots/b.cer cannot be used: ") == true)
        #expect(settings.trustedRoots.isEmpty && settings.intermediates.isEmpty)
    }
}
