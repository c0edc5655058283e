import ReceiptBridgeBase
import Foundation
import GRDB
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("doctor")
struct DoctorTests {
    /// Returns the results in the form `pass openssl`, except those that depend on the machine: its descriptors and
    /// memory, and the listeners, whose addresses other tests may use.
    private func verdicts(_ outcome: Binary.Outcome) throws -> [String] {
        try (JSONValue(reading: outcome.output).elements ?? []).compactMap { row in
            guard row.keys == ["check", "ok", "detail", "advice"], let name = row["check"]?.text,
                let verdict = row["ok"]?.text, !name.hasSuffix("listen"), !["descriptors", "memory"].contains(name)
            else { return nil }
            return "\(verdict) \(name)"
        }
    }

    private func row(_ outcome: Binary.Outcome, _ check: String) throws -> (detail: String, advice: String) {
        let rows = try JSONValue(reading: outcome.output).elements
        let row = try #require(rows?.first { $0["check"]?.text == check })
        return (row["detail"]?.text ?? "", row["advice"]?.text ?? "")
    }

    @Test("doctor finds no problem in the files of a simulator")
    func healthy() async throws {
        let stage = try await CommandFixture(customers: 4)
        let outcome = try await stage.run("doctor", "--json", exit: 0)
        #expect(
            try verdicts(outcome).filter { !$0.hasPrefix("warn secret") } == [
                "pass configuration", "pass openssl", "pass root", "pass root", "pass root", "warn root", "warn root",
                "pass key com.example.app", "pass store", "pass proxy", "pass verifyReceipt production",
                "pass verifyReceipt sandbox", "pass serverAPI production", "pass serverAPI sandbox", "pass clock",
                "pass serverAPI com.example.app production", "pass serverAPI com.example.app sandbox",
            ], "\(outcome.text)")
        #expect(!FileManager.default.fileExists(atPath: stage.folder.path("bridge.sqlite")))
        let before = stage.appStore.requests.total
        let offline = try await stage.run("doctor", "--offline")
        #expect(offline.exit == 0 && offline.text.contains("pass  root"))
        #expect(offline.text.contains("Apple Root CA - G3, until 2039-04-30, built in"))
        #expect(stage.appStore.requests.total == before)
    }

    @Test("doctor reports problems with keys, secrets, the store and the egress proxy")
    func ill() async throws {
        let stage = try await CommandFixture(customers: 2)
        let yaml = try stage.folder.text("receipt-bridge.yaml")
        try stage.folder.write("bridge.sqlite", "this is no database, however long it may be".utf8)
        let secret = try stage.folder.write("open.txt", "Zm9ydHktdHdvIGJ5dGVz".utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: secret)
        try stage.folder.write(
            "ill.yaml",
            yaml.replacing("keyId: SIMKEY0001", with: "keyId: WRONGKEY00")
                .appending("\ntokens: [{file: open.txt}]\n").utf8)
        let ill = try await Binary.run(
            "doctor", "--json", "--config", "ill.yaml", in: stage.folder,
            environment: ["https_proxy": "http://user:canary@127.0.0.1:1"], exit: 1)
        let found = try verdicts(ill)
        for expected in [
            "warn secret tokens[0]", "fail store", "fail proxy", "fail serverAPI com.example.app production",
            "fail serverAPI com.example.app sandbox", "pass key com.example.app",
        ] { #expect(found.contains(expected), "\(expected): \(found)") }
        #expect(try row(ill, "proxy").detail == "127.0.0.1:1, from https_proxy: connection failed")
        let refused = try row(ill, "serverAPI com.example.app production")
        #expect(refused.detail == "HTTP status 401: wrong key or identifier, or the app has not been released yet")
        #expect(refused.advice.contains("issuerId, keyId and bundleId") && refused.advice.contains("never released"))
        #expect(!ill.text.contains("canary"))

        try stage.folder.write("other.p8", "no key".utf8)
        try stage.folder.write("keyless.yaml", yaml.replacing(/file: \S+?\.p8/, with: "file: other.p8").utf8)
        let keyless = try await Binary.run("doctor", "--json", "--config", "keyless.yaml", in: stage.folder)
        let verdict = try verdicts(keyless)
        #expect(keyless.exit == 1 && verdict.contains("fail key com.example.app"))
        #expect(!verdict.contains { $0.contains("serverAPI com.example.app") })
        let reason = "\(stage.folder.path("other.p8")): the private key does not begin with -----BEGIN PRIVATE KEY-----"
        // The simulator has the port, so a server that may start exits nevertheless.
        for (answer, isRefused) in [("[api]", true), ("[api, receipt]", false)] {
            try stage.configure("unanswered.yaml", store: "none", answer: answer)
            try stage.folder.write(
                "unanswered.yaml",
                stage.folder.text("unanswered.yaml").replacing(/file: \S+?\.p8/, with: "file: other.p8"))
            let serve = try await stage.run(
                "serve", "--listen", "127.0.0.1:\(stage.port)", "--config", "unanswered.yaml")
            let line = "receipt-bridge: com.example.app: the privateKey of serverAPI cannot be used: \(reason)"
            #expect(serve.exit == 2 && serve.errors.contains(line) == isRefused, "\(answer): \(serve.errors)")
        }
        await stage.stop()

        let alone = try await Binary.run("doctor", "--json", "--config", "keyless.yaml", in: stage.folder)
        #expect(try verdicts(alone).contains("fail verifyReceipt production"))
        #expect(try verdicts(alone).contains("warn clock"))
    }

    @Test("doctor warns if others than the owner can read the store or secrets, and changes nothing")
    func exposed() async throws {
        let stage = try await CommandFixture(customers: 2)
        for (name, mode) in [("bridge.sqlite", 0o644), ("a.txt", 0o440), ("b.txt", 0o600), ("c.txt", 0o604)] {
            let file = try stage.folder.write(name, name == "bridge.sqlite" ? [] : Array("token-of-16-bytes".utf8))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        }
        try stage.folder.write(
            "exposed.yaml", "tokens: [{file: a.txt}, {file: b.txt}, {file: c.txt}]\n\(try stage.configuration())".utf8)
        let outcome = try await stage.run("doctor", "--json", "--offline", "--config", "exposed.yaml")
        let found = try verdicts(outcome)
        #expect(found.contains("warn store") && !found.contains("warn secret tokens[1]"), "\(found)")
        #expect(
            try row(outcome, "store").detail.hasSuffix(
                "bridge.sqlite can be read or changed by every user of this machine"))
        // Credentials of systemd are in a folder that others cannot enter.
        let credentials = try await Binary.run(
            "doctor", "--json", "--offline", "--config", stage.folder.path("exposed.yaml"), in: stage.folder,
            environment: ["CREDENTIALS_DIRECTORY": stage.folder.url.path])
        #expect(try !verdicts(credentials).contains { $0.contains("secret") })
        #expect(
            try row(outcome, "secret tokens[0]").detail.hasSuffix("a.txt can be read or changed by the file's group"))
        #expect(
            try row(outcome, "secret tokens[2]").detail.hasSuffix(
                "c.txt can be read or changed by every user of this machine"))
        #expect(try stage.folder.permissions("bridge.sqlite") == 0o644)
    }

    @Test("doctor finds a damaged store, and never advises to move a store that a newer version wrote")
    func damagedStore() async throws {
        let stage = try await CommandFixture(customers: 24)
        try await stage.replay()
        #expect(try await stage.run("forget", "--rewrite").exit == 0)
        let whole = try stage.folder.read("bridge.sqlite")
        var bytes = whole
        // Overwrites every fourth page after those of the schema.
        var generator = SeededGenerator("doctor, a damaged store")
        for page in stride(from: 100, to: bytes.count / 4_096, by: 4) {
            for index in 0..<4_096 { bytes[page * 4_096 + index] = .random(in: 0...255, using: &generator) }
        }
        try stage.folder.write("bridge.sqlite", bytes)
        let damaged = try await stage.run("doctor", "--offline", "--json")
        let found = try row(damaged, "store")
        #expect(damaged.exit == 1 && found.detail.contains("bridge.sqlite is damaged: "), "\(found)")
        #expect(found.advice.contains("restore a backup"))

        try stage.folder.write("bridge.sqlite", whole)
        try await stage.change("INSERT INTO grdb_migrations VALUES ('of a later version')")
        let newer = try await stage.run("doctor", "--offline", "--json")
        let verdict = try row(newer, "store")
        #expect(newer.exit == 1 && verdict.detail.contains("a newer version of receipt-bridge wrote this file"))
        #expect(verdict.advice == "run the version that wrote it, or a newer one; the file is intact")
    }

    @Test("doctor says which app a receipt is of, and whether Apple accepts the shared secret of that app")
    func receipt() async throws {
        let stage = try await CommandFixture(customers: 4)
        let yaml = try stage.configuration()
        try stage.folder.write("wrong.txt", "0123456789abcdef0123456789abcdef".utf8)
        try stage.folder.write("misspelt.yaml", yaml.replacing("com.example.app", with: "com.exmaple.app").utf8)
        try stage.folder.write(
            "ascending.yaml",
            yaml.replacing("    sharedSecret:", with: "    latestReceiptInfoOrder: ascending\n    sharedSecret:").utf8)
        try stage.folder.write(
            "wrong.yaml", yaml.replacing(/sharedSecret: .*/, with: "sharedSecret: {file: wrong.txt}").utf8)
        try stage.folder.write(
            "none.yaml",
            yaml.replacing(/sharedSecret: .*/, with: "answer: [apple]").replacing(
                "answer: [apple, receipt]", with: "sandbox: allow"
            ).utf8)
        let active = try #require(stage.appStore.receipts.first { $0.customer.kind == .activeSubscription })
        let file = "receipts/\(active.id).b64"
        func rows(_ config: String, _ file: String, _ more: String...) async throws -> [String] {
            let outcome = try await stage.run(["doctor", "--json", "--config", config, "--receipt", file] + more)
            guard case .array(let rows) = try JSONValue(reading: outcome.output) else { return [outcome.errors] }
            return rows.compactMap { row in
                guard let name = row["check"]?.text,
                    ["receipt", "sharedSecret", "latestReceiptInfoOrder"].contains(name.prefix { $0 != " " })
                else { return nil }
                return "\(row["ok"]?.text ?? "") \(name): \(row["detail"]?.text ?? "")"
            }
        }
        let found = "\(file): authentic, of com.example.app, \(active.environment.rawValue)"
        #expect(
            try await rows("receipt-bridge.yaml", file) == [
                "pass receipt: \(found)", "pass sharedSecret com.example.app: Apple accepts it (0)",
                "pass latestReceiptInfoOrder com.example.app: Apple's latest_receipt_info has the newest row first, as ours "
                    + "in Production",
            ])
        #expect(
            try await rows("ascending.yaml", file).last
                == "warn latestReceiptInfoOrder com.example.app: Apple's latest_receipt_info has the newest row first, "
                + "ours in Production last")
        #expect(try await rows("receipt-bridge.yaml", file, "--offline") == ["pass receipt: \(found)"])
        #expect(
            try await rows("misspelt.yaml", file) == [
                "fail receipt: \(found). com.example.app is not configured (configured: com.exmaple.app). Did you mean "
                    + "com.example.app instead of com.exmaple.app?"
            ])
        #expect(
            try await rows("wrong.yaml", file) == [
                "pass receipt: \(found)",
                "fail sharedSecret com.example.app: Apple rejects the configured sharedSecret (21004)",
            ])
        #expect(
            try await rows("none.yaml", file) == [
                "pass receipt: \(found)",
                "fail sharedSecret com.example.app: none is configured, and Apple requires it for this receipt (21004)",
            ])
        #expect(
            try await rows("receipt-bridge.yaml", "nowhere.b64")
                == ["fail receipt: nowhere.b64: cannot be read: there is no such file"])
        #expect(
            try await rows("receipt-bridge.yaml", "wrong.txt").first?.hasPrefix("fail receipt: wrong.txt: ") == true)
    }

    @Test("A bundle ID, secret, issuer ID, key ID or key file that does not look like Apple's is a warning")
    func unusualForms() async throws {
        let folder = try TemporaryFolder()
        try folder.write("secret.txt", "canary".utf8)
        try folder.write("AuthKey_AAAAAAAAAA.p8", "canary, too".utf8)
        let app = """
            sharedSecret: {file: secret.txt}
            serverAPI: {issuerId: my-team, keyId: x-y, privateKey: {file: AuthKey_AAAAAAAAAA.p8}}
            """
        let lines = app.split(separator: "\n").map { "    \($0)\n" }.joined()
        let upstream = "upstream: {verifyReceipt: {production: \"https://sandbox.itunes.apple.com/verifyReceipt\"}}\n"
        try folder.write("forms.yaml", "store: none\n\(upstream)apps:\n  - bundleId: com.example_app\n\(lines)".utf8)
        let doctor = try await Binary.run(
            "doctor", "--offline", "--config", "forms.yaml", in: folder, environment: ["RECEIPT_BRIDGE_LISTN": "a:1"])
        for form in [
            "sharedSecret has an unusual form: Apple's have 32 hexadecimal digits",
            "issuerId has an unusual form: Apple's are UUIDs", "keyId has an unusual form: Apple's have ten",
            "bundleId has an unusual form: Apple's have letters, digits, hyphens and periods",
            "AuthKey_AAAAAAAAAA.p8 has the name of a key of the App Store Connect API",
        ] {
            let line = doctor.text.split(separator: "\n").first { $0.contains("com.example_app: \(form)") }
            #expect(line?.hasPrefix("warn  configuration") == true, "\(doctor.text)")
        }
        #expect(!doctor.text.contains("canary"))
        let host =
            "upstream.verifyReceipt.production: sandbox.itunes.apple.com belongs to upstream.verifyReceipt.sandbox"
        #expect(doctor.exit == 1 && doctor.text.contains(host), "\(doctor.text)")
        #expect(doctor.text.contains("RECEIPT_BRIDGE_LISTN is not used. Did you mean RECEIPT_BRIDGE_LISTEN?"))
    }

    @Test("doctor reports every configuration error, and exits with 2 if the file cannot be read at all")
    func mistaken() async throws {
        let folder = try TemporaryFolder()
        try folder.write("bad.yaml", "listn: x\nstore: postgres://user:canary@db/x\n".utf8)
        let bad = try await Binary.run("doctor", "--config", "bad.yaml", in: folder)
        #expect(bad.exit == 1 && !bad.text.contains("canary"))
        #expect(
            bad.text.hasPrefix(
                """
                fail  configuration  bad.yaml: store: the address contains a password; remove it and name a file in database.password instead
                fail  configuration  bad.yaml: listn: unknown key. Did you mean listen?
                pass  openssl        verifies SHA-1 and RSA-1024, as old receipts need

                """), "\(bad.text)")
        #expect(bad.text.hasSuffix("\n4 checks passed, 2 failed; next: correct what failed, and run doctor again\n"))
        try folder.write("open.yaml", "operations: {listen: 0.0.0.0:0}\nstore: none\n".utf8)
        let reason =
            "open.yaml: operations.listen: 0.0.0.0:0 is not on loopback and there are no tokens: set tokens, otherwise every client that "
            + "reaches it can read the data of every customer"
        let open = try await Binary.run("doctor", "--offline", "--config", "open.yaml", in: folder)
        #expect(open.exit == 1 && open.text.hasPrefix("fail  configuration  \(reason)\n"), "\(open.text)")
        // The address does not belong to this machine, so the server exits even if the rule is not applied.
        let serve = try await Binary.run("serve", "--listen", "192.0.2.1:80", "--config", "open.yaml", in: folder)
        #expect(serve.exit == 2 && serve.errors == "receipt-bridge: \(reason)\n", "\(serve.errors)")
        try folder.write("worse.yaml", "sharedSecret: [canary".utf8)
        try folder.write("space.yaml", "apps:\n  - bundleId:com.example.app\n    answer: [apple]\n".utf8)
        try folder.write("tab.yaml", "apps:\n\t- bundleId: com.example.app".utf8)
        for (file, reason) in [
            ("worse.yaml", "worse.yaml: not YAML: line"),
            ("space.yaml", "space.yaml: not YAML: line 2: a space is missing after the colon"),
            ("tab.yaml", "tab.yaml: not YAML: line 2 begins with a tab, but YAML is indented with spaces"),
            ("none.yaml", "\(folder.path("none.yaml")): there is no such file"),
        ] {
            let outcome = try await Binary.run("doctor", "--config", file, in: folder)
            #expect(outcome.exit == 2 && outcome.text.contains("fail  configuration  \(reason)"), "\(outcome.text)")
            #expect(!outcome.text.contains("canary"))
        }
    }
}
