import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("Names that select nothing")
struct NameSelectionTests {
    private func misspell(_ fixture: CommandFixture) throws {
        let text = try fixture.configuration()
        try fixture.folder.write(
            "typo.yaml", text.replacing("bundleId: com.example.app", with: "bundleId: com.exmaple.app"))
    }

    @Test("Rows of an app without a key are named by migrate, also by its plan, and end with 1")
    func migrate() async throws {
        let fixture = try await CommandFixture(customers: 6, store: nil)
        try misspell(fixture)
        let notice =
            "cannot be looked up: com.example.app is not configured (configured: com.exmaple.app). Did you mean "
            + "com.example.app instead of com.exmaple.app?"
        let command = ["migrate", "receipts.jsonl", "--to", "out.jsonl", "--with-api", "--config"]
        let before = try await fixture.calls
        for words in [["--plan", "--to", "plan.jsonl"], [], []] {
            let outcome = try await fixture.run(command + ["typo.yaml"] + words, exit: 1, says: notice)
            #expect(outcome.errors.contains("rows of com.example.app") && !outcome.errors.contains("--refresh"))
        }
        #expect(try await fixture.calls == before)
        try await fixture.run("compare", "receipts.jsonl", "--config", "typo.yaml", exit: 1, says: notice)
        // With a key, the same rows are looked up, after --fresh.
        try await fixture.run(
            command + ["receipt-bridge.yaml"], exit: 1, says: "because the app had no key when they were read")
        let again = try await fixture.run(command + ["receipt-bridge.yaml", "--fresh"])
        #expect(again.exit == 0 && !again.errors.contains("looked up:"), "\(again.errors)")
        // An app that is configured without a key.
        let other = "- bundleId: com.example.app\n  - bundleId: com.example.other\n"
        try fixture.folder.write(
            "keyless.yaml", try fixture.configuration().replacing("- bundleId: com.example.app\n", with: other))
        let keyless = try await fixture.run(
            [
                "migrate", "receipts.jsonl", "--to", "b.jsonl", "--with-api", "--config", "keyless.yaml",
            ])
        let sentence = "cannot be looked up: the app has no serverAPI in the configuration"
        #expect(keyless.exit == 1 && keyless.errors.contains(sentence), "\(keyless.errors)")
    }

    @Test("--bundle-id of an app that does not exist is an error in every command, with the apps that do")
    func options() async throws {
        let fixture = try await CommandFixture(customers: 2)
        try fixture.folder.write("ids.txt", "1\n")
        #expect(try await fixture.run("store", "check").exit != 70)
        let bad = ["--bundle-id", "com.exmaple.app"]
        let configured = "(configured: com.example.app). Did you mean com.example.app?"
        let commands: [[String]] = [
            ["lookup", "1"], ["lookup", "--ids", "ids.txt", "--to", "a.jsonl"], ["orders", "lookup", "MV1"],
            ["migrate", "receipts.jsonl", "--to", "b.jsonl", "--with-api", "--allow-unverified"],
            ["notifications", "test"], ["notifications", "history"],
            ["tokens", "set", "1", "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f"],
        ]
        for command in commands {
            try await fixture.expectRefusal(
                command + bad, "--bundle-id: com.exmaple.app is not configured \(configured)")
        }
        try await fixture.serve().finish()
        let stored = "--bundle-id: com.exmaple.app is neither configured nor in the store \(configured)"
        try await fixture.expectRefusal(["forget", "--original-transaction-id", "1"] + bad, stored)
        try await fixture.expectRefusal(["notifications", "list"] + bad, stored)
        try await fixture.expectRefusal(
            ["refunds", "sweep", "--ids", "ids.txt"] + bad,
            "--bundle-id: com.exmaple.app is not configured \(configured)")
        // An app that exists.
        try await fixture.run(
            "forget", "--original-transaction-id", "1", "--bundle-id", "com.example.app", "--dry-run", exit: 1,
            says: "the store has no data of that customer")
        #expect(try await fixture.run("notifications", "list", "--bundle-id", "com.example.app").exit == 0)
        for command in [["notifications", "list"], ["notifications", "history"]] {
            try await fixture.expectRefusal(
                command + ["--type", "DID_RENWE"], "--type: DID_RENWE is not a type of Apple's. Did you mean DID_RENEW?"
            )
        }
        try await fixture.expectRefusal(["notifications", "list", "--type", "X"], "--type: X is not a type of Apple's")
        try await fixture.expectRefusal(
            ["notifications", "list", "--customer", "9"], "--customer: the store has no record of 9")
        try await fixture.expectRefusal(["bench", "--only", "x"], "--only: no row's name begins with x")
        #expect(try await fixture.run("notifications", "list", "--type", "REFUND").exit == 0)
    }

    @Test("A file of the working folder with nearly the usual name is suggested, and a server without apps warns")
    func withoutApps() async throws {
        let folder = try TemporaryFolder()
        try folder.write("receipt-bridge.yml", "apps: [{bundleId: com.example.app}]\n")
        let server = try await Running.serve(in: folder)
        await server.finish()
        let expected = [
            "there is no receipt-bridge.yaml in this folder. Did you mean receipt-bridge.yml?",
            "No app is configured: no shared secret is added to receipts, so a subscription without a password gets 21004",
        ]
        for sentence in expected { #expect(server.errors.contains(sentence), "\(server.errors)") }
    }

    @Test("A file that cannot be read is named with the reason, and with the one that may be meant")
    func files() async throws {
        let folder = try TemporaryFolder()
        try folder.write("receipt.b64", "MIIT")
        try folder.write("receipt-bridge.yaml", "store: sqlite:bridge.sqlite\n")
        let missing = "there is no such file"
        let cases: [(words: [String], reason: String)] = [
            (["decode", "reciept.b64"], "reciept.b64: cannot be read: \(missing). Did you mean receipt.b64?"),
            (["decode", "."], ".: cannot be read: this is a directory"),
            (["verify", "nowhere"], "nowhere: cannot be read: \(missing)\n"),
            (["lookup", "1", "--config", "recipt-bridge.yaml"], "Did you mean \(folder.path("receipt-bridge.yaml"))?"),
            (["store", "check", "bridge.sqlte"], "bridge.sqlte: \(missing)"),
            (
                ["migrate", "receipt.b64", "--to", "nowhere/x.jsonl"],
                "the file cannot be created: there is no such directory"
            ),
            (
                ["verify", "receipt.b64", "--mappings", "nowhere"],
                "--mappings: cannot read \(folder.path("nowhere")): \(missing)\n"
            ),
        ]
        for (words, reason) in cases {
            try await Binary.run(Binary.url, words, in: folder, exit: 2, says: reason)
        }
    }
}
