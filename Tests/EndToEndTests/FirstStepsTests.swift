import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// What people meet who use the tool for the first time: help, suggestions, a first configuration, text on a terminal.
@Suite("First steps")
struct FirstStepsTests {
    @Test("The help begins with the common commands, and has examples, documents and groups")
    func help() async throws {
        let text = try await Binary.run("--help", in: TemporaryFolder()).text
        let parts = [
            "Examples:", "Read on:", "COMMON SUBCOMMANDS:\n  init ", "APP STORE SUBCOMMANDS:", "STORE SUBCOMMANDS:",
        ]
        #expect(parts.compactMap { text.firstRange(of: $0)?.lowerBound }.count == parts.count, "\(text)")
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test("--version names what the binary was built from")
    func version() async throws {
        let text = try await Binary.run("--version", in: TemporaryFolder()).text
        let form = /receipt-bridge \d+\.\d+\.\d+(-dev)? \((commit [0-9a-f]{7,40}(-dirty)?, )?Swift \d+\.\d+.*\)\n/
        #expect(text.wholeMatch(of: form) != nil, "\(text)")
    }

    static let misspellings: [(words: [String], question: String?)] = [
        (["mirate"], "Unknown command 'mirate'. Did you mean migrate?"),
        (["start"], "Unknown command 'start'. Did you mean serve?"),
        (["validate", "a.yaml"], "Unknown command 'validate'. Did you mean doctor?"),
        (["-V"], "Unknown option '-V'. Did you mean --version?"),
        (["notifications", "lst"], "Unknown command 'lst'. Did you mean list?"),
        (["store", "chek", "a"], "Unknown command 'chek'. Did you mean check?"),
        // An option that is missing does not hide the one that is misspelled.
        (
            ["migrate", "a.csv", "--reciept-column", "x"],
            "Unknown option '--reciept-column'. Did you mean --receipt-column?"
        ),
        (["serve", "--config", "bad.yaml"], "bad.yaml: apps[0].anwser: unknown key. Did you mean answer?"),
        (["serve", "--config", "bad.yaml"], "bad.yaml: tsl: unknown key. Did you mean tls?\n"),
        (["nonsense"], nil), (["migrate", "a.csv", "--", "--reciept-column"], nil),
    ]

    @Test("A misspelled command, option or key is reported with the one that may be meant", arguments: misspellings)
    func misspelling(words: [String], question: String?) async throws {
        let folder = try TemporaryFolder()
        try folder.write("bad.yaml", "tsl: 1\napps: [{bundleId: com.example.app, anwser: [apple]}]\n".utf8)
        let outcome = try await Binary.run(Binary.url, words, in: folder, exit: 2)
        #expect(question.map(outcome.errors.contains) ?? !outcome.errors.contains("Did you mean"), "\(outcome.errors)")
    }

    // MARK: - The first configuration

    @Test("init writes a configuration that doctor and serve find, for its owner only, and never replaces a file")
    func first() async throws {
        let folder = try TemporaryFolder()
        let empty = try await Binary.run("doctor", "--offline", in: folder)
        #expect(empty.text.hasSuffix("next: receipt-bridge init writes a first configuration\n"), "\(empty.text)")
        for words in [["--bundle-id", "no id"], ["--shared-secret-file", "nowhere"]] {
            #expect(try await Binary.run(Binary.url, ["init"] + words, in: folder).exit == 2)
        }
        try folder.write("a secret.txt", "5afb5f7a1f0e4d1c9a2b3c4d5e6f7081".utf8)
        chmod(folder.path("a secret.txt"), 0o600)
        for words in [
            [], ["--bundle-id", "com.example.other", "--shared-secret-file", "a secret.txt", "--deny-sandbox"],
        ] {
            let written = try await Binary.run(Binary.url, ["init"] + words, in: folder)
            #expect(written.exit == 0 && written.output.isEmpty, "\(written.errors)")
            #expect(try folder.permissions("receipt-bridge.yaml") == 0o600)
            let before = try folder.text("receipt-bridge.yaml")
            let again = try await Binary.run("init", in: folder)
            #expect(again.exit == 2 && again.errors.hasPrefix("receipt-bridge: receipt-bridge.yaml exists"))
            #expect(try folder.text("receipt-bridge.yaml") == before)

            let doctor = try await Binary.run("doctor", "--offline", in: folder)
            #expect(doctor.exit == 0 && doctor.errors == "receipt-bridge: using receipt-bridge.yaml in this folder\n")
            #expect(doctor.text.contains("1 app: \(words.isEmpty ? "com.example.app" : words[1])\n"), "\(doctor.text)")
            #expect(!doctor.text.contains("secret") && doctor.text.contains(" checks passed"), "\(doctor.text)")
            try FileManager.default.removeItem(atPath: folder.path("receipt-bridge.yaml"))
        }
    }

    @Test("The configuration in the working folder is used if no other one is named and it has no test roots")
    func found() async throws {
        let folder = try TemporaryFolder()
        try folder.write("receipt-bridge.yaml", "apps: [{bundleId: com.example.found}]\nlisten: 192.0.2.1:80\n".utf8)
        try folder.write("other.yaml", "apps: [{bundleId: com.example.named}]\n".utf8)
        func doctor(_ words: String..., environment: [String: String] = [:]) async throws -> Binary.Outcome {
            try await Binary.run(
                Binary.url, ["doctor", "--offline", "--json"] + words, in: folder, environment: environment)
        }
        #expect(try await doctor().text.contains("1 app: com.example.found"))
        for named in [
            try await doctor("-c", "other.yaml"),
            try await doctor(environment: ["RECEIPT_BRIDGE_CONFIG": "other.yaml"]),
        ] { #expect(named.errors.isEmpty && named.text.contains("1 app: com.example.named"), "\(named.text)") }
        // A server says so in its log. Nothing can listen on that address.
        let serve = try await Binary.run(
            "serve", in: folder, exit: 2, says: #""message":"using receipt-bridge.yaml in this folder""#)
        #expect(serve.errors.contains("listen: 192.0.2.1:80 cannot be used"), "\(serve.errors)")

        // The simulator's own roots are never trusted by chance.
        try StateDirectory(folder.url.path).write(try SharedSimulator.store(customers: 4), host: "127.0.0.1", port: 9)
        try folder.write("app.b64", try SharedSimulator.receipt(.activeSubscription).base64.utf8)
        let untrusted = try await Binary.run("verify", "--answer", "receipt", "app.b64", in: folder)
        #expect(untrusted.text == #"{"status":21003}"#)
        #expect(
            untrusted.errors.hasPrefix("receipt-bridge: app.b64: untrustedChain at signer: "), "\(untrusted.errors)")
        try folder.write(
            "app.json", "{\"receipt\":\"\(try SharedSimulator.receipt(.activeSubscription).base64)\"}".utf8)
        let wrapped = try await Binary.run(
            "verify", "--answer", "receipt", "--roots", "roots", "app.json", in: folder)
        #expect(wrapped.text == #"{"status":21002}"#)
        let found = "app.json: rejected as by the server; `receipt-bridge decode` reads it\n"
        #expect(wrapped.errors == "receipt-bridge: \(found)", "\(wrapped.errors)")
        #expect(try await doctor().text.contains("no app is configured"))
    }

    // MARK: - A terminal

    /// Runs a command whose input, output and messages are one terminal.
    private func onTerminal(_ words: [String], in folder: TemporaryFolder) async throws -> (exit: Int32, text: String) {
        let terminal = try PseudoTerminal(columns: 80)
        let run = try Running(words, in: folder, terminal: terminal, showsResults: true, isTyped: true)
        // A terminal that nobody reads is full after some kilobytes.
        #expect(
            await eventually(within: .seconds(10)) {
                _ = terminal.text
                return !run.isRunning
            })
        run.kill()
        return (await run.end(), terminal.text.replacing("\r\n", with: "\n"))
    }

    @Test("decode and verify print text on a terminal, JSON on request, and their help if nothing is to be read")
    func terminal() async throws {
        let folder = try TemporaryFolder.simulated()
        try FileManager.default.removeItem(atPath: folder.path("receipt-bridge.yaml"))
        try folder.write("app.b64", try SharedSimulator.receipt(.activeSubscription).base64.utf8)
        try folder.write("old.b64", try SharedSimulator.receipt(.oldActiveSubscription, version: 4).base64.utf8)
        for (command, text) in [
            (["decode"], "app.b64: App Receipt, authentic\n"),
            (["verify", "--answer", "receipt"], "app.b64: status 0, authentic\n  source:       receipt\n"),
        ] {
            let words = command + ["--roots", "roots"]
            let shown = try await onTerminal(words + ["app.b64", "old.b64"], in: folder)
            #expect(shown.exit == 0 && shown.text.hasPrefix(text), "\(shown.text)")
            #expect(shown.text.contains("\n  - com.example.app.monthly ") && shown.text.contains("\nold.b64: "))
            #expect(shown.text.contains(" UTC until ") && !shown.text.contains("Etc/GMT"), "\(shown.text)")
            let piped = try await Binary.run(Binary.url, words + ["app.b64"], in: folder)
            let asked = try await onTerminal(words + ["--json", "app.b64"], in: folder)
            // The time of the request differs.
            #expect(asked.text.prefix(60) == piped.text.prefix(60) && asked.text.hasPrefix("{"), "\(asked.text)")
            let nothing = try await onTerminal(words, in: folder)
            #expect(
                nothing.exit == 2 && nothing.text.contains("USAGE: receipt-bridge \(command[0])"), "\(nothing.text)")
        }
        let forged = try await onTerminal(["verify", "--answer", "receipt", "app.b64"], in: folder)
        #expect(forged.exit == 1 && forged.text.hasPrefix("app.b64: status 21003, NOT AUTHENTIC\n"), "\(forged.text)")
    }

    // MARK: - Reports

    @Test("--json prints a report as JSON, and --quiet leaves out the summary")
    func reports() async throws {
        let folder = try TemporaryFolder.simulated()
        let migrate = ["migrate", "receipts.jsonl", "--roots", "roots"]
        let report = try await Binary.run(Binary.url, migrate + ["-o", "a.jsonl", "--json"], in: folder)
        let rows = try folder.lines("a.jsonl").count
        #expect(
            report.lines.count == 1 && report.lines[0]["outcomes"]?["decoded"]?.integer == Int64(rows), "\(report.text)"
        )
        let quiet = try await Binary.run(Binary.url, migrate + ["-o", "b.jsonl", "-q"], in: folder)
        #expect(quiet.exit == 0 && quiet.output.isEmpty && quiet.errors.isEmpty, "\(quiet.errors)")

        try folder.write(
            "pair.jsonl",
            #"{"id":"p","verifyReceipt":{"status":0,"receipt":{"bundle_id":"a.b","in_app":[]}},"history":{"bundleId":"c.d","environment":"Production","signedTransactions":[]}}"#
                .utf8)
        let compare = ["compare", "pair.jsonl", "--json"]
        let differences = try await Binary.run(Binary.url, compare + ["-o", "d.jsonl"], in: folder)
        #expect(differences.lines.count == 1 && differences.lines[0]["differences"]?.elements?.isEmpty == false)
        #expect(try await Binary.run(Binary.url, compare, in: folder).exit == 2)

        let tables = try await Binary.run("mappings", "check", "--json", in: folder).lines.first?.elements ?? []
        #expect(tables.count > 5 && tables.allSatisfy { $0["error"] == .null })
        let doctor = try await Binary.run("doctor", "--offline", "--quiet", in: folder)
        #expect(doctor.text.hasPrefix("warn  store ") && !doctor.text.contains("pass"), "\(doctor.text)")
    }
}
