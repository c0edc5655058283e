import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// The exit codes of docs/COMMANDS.md if the App Store does not respond or rejects the key.
@Suite("Exit codes")
struct ExitCodeTests {
    /// Commands whose exit code is 3 if nothing listens at the App Store's address, if Apple's rate limit is exceeded,
    /// and if Apple rejects the key.
    private func commands(id: String) -> [[String]] {
        [
            ["lookup", id], ["orders", "lookup", "M76RHDBYIBH"],
            ["refunds", "sweep", "--ids", "ids.txt", "--max-hours", "0.001"],
            ["renewals", "extend", "--original-transaction-id", id, "--days", "3", "--reason", "3"],
            ["notifications", "test"], ["notifications", "history"],
            ["consumption", "send", id, "--customer-consented", "--delivery-status", "DELIVERED"],
        ]
    }

    /// Those rows, and `verify`, which has two codes by contract: 0 for status 0 and 21006, 1 for everything else.
    private func rows(id: String, apple: Int32) -> [(words: [String], exit: Int32)] {
        commands(id: id).map { ($0, 3) } + [
            (["verify", "receipt.b64", "--answer", "api"], 1), (["verify", "receipt.b64", "--answer", "apple"], apple),
        ]
    }

    private func limit(_ stage: CommandFixture, retryAfter: String) {
        stage.appStore.faults.add(
            SimulatedFault(.serverAPI(.failure(code: 4_290_000, retryAfter: retryAfter)), endpoint: "serverAPI"))
    }

    private func stage() async throws -> (stage: CommandFixture, id: String) {
        let stage = try await CommandFixture(customers: 24)
        let id = try #require(stage.extendable().first).renewal.originalTransactionId
        let receipt = try #require(
            try stage.folder.lines("receipts.jsonl").first { $0["environment"]?.text == "Production" }?["receipt"]?.text
        )
        try stage.folder.write("receipt.b64", receipt.utf8)
        try stage.folder.write("ids.txt", "\(id)\n".utf8)
        return (stage, id)
    }

    @Test(
        "The exit code is 3 if the App Store cannot be reached, so that the same command can be resumed",
        .timeLimit(.minutes(5)))
    func unreachable() async throws {
        let (stage, id) = try await stage()
        let yaml = try stage.configuration().replacing("127.0.0.1:\(stage.port)", with: "127.0.0.1:1")
        try await expect(rows(id: id, apple: 1) + [(["compare", "receipts.jsonl"], 3)], stage, yaml: yaml)
        // verifyReceipt responds, but the App Store Server API cannot be reached.
        let half = try stage.configuration().replacing(
            /:\d+(\/(?:production|sandbox))\n/, with: { ":1\($0.output.1)\n" })
        try await expect([(["compare", "receipts.jsonl"], 3)], stage, yaml: half)
    }

    @Test(
        "The exit code is 3 if Apple's rate limit is exceeded for longer than the command may wait",
        .timeLimit(.minutes(5)))
    func rateLimited() async throws {
        let (stage, id) = try await stage()
        limit(stage, retryAfter: "7200")
        try await expect(rows(id: id, apple: 0), stage, yaml: try stage.configuration())
    }

    @Test(
        "The exit code is 3 if Apple rejects the key, so that the same command can be resumed with a valid key",
        .timeLimit(.minutes(5)))
    func keyRefused() async throws {
        let (stage, id) = try await stage()
        let yaml = try stage.configuration().replacing(/keyId: \S+/, with: "keyId: NOSUCHKEY1")
        let others: [(words: [String], exit: Int32)] = [
            (["compare", "receipts.jsonl"], 3), (["migrate", "receipts.jsonl", "--to", "out.jsonl"], 3),
        ]
        try await expect(rows(id: id, apple: 0) + others, stage, yaml: yaml)
    }

    @Test("The exit code is 2, before any call, if the private key file contains no key", .timeLimit(.minutes(5)))
    func noKey() async throws {
        let (stage, id) = try await stage()
        try stage.folder.write("none.p8", "no key\n".utf8)
        let yaml = try stage.configuration().replacing(/SubscriptionKey_\w+\.p8/, with: "none.p8")
        let others = [["compare", "receipts.jsonl"], ["migrate", "receipts.jsonl", "--to", "out.jsonl"]]
        try await expect((commands(id: id) + others).map { ($0, 2) }, stage, yaml: yaml)
    }

    /// Runs the commands concurrently, because each of them retries for some seconds. Each has a store of its own.
    private func expect(_ rows: [(words: [String], exit: Int32)], _ stage: CommandFixture, yaml: String) async throws {
        try await concurrently(rows.indices) { index in
            try stage.folder.write(
                "\(index).yaml", yaml.replacing("sqlite:bridge.sqlite", with: "sqlite:\(index).sqlite"))
            let outcome = try await stage.run(rows[index].words + ["--config", "\(index).yaml"])
            #expect(outcome.exit == rows[index].exit, "\(rows[index].words): \(outcome.exit) \(outcome.errors)")
        }
    }

    @Test(
        "The exit code of migrate is 3 if the App Store cannot be reached, even with few customers",
        .timeLimit(.minutes(5)))
    func migrateUnreachable() async throws {
        let (stage, _) = try await stage()
        try stage.folder.write(
            "closed.yaml",
            try stage.configuration().replacing("127.0.0.1:\(stage.port)", with: "127.0.0.1:1").utf8)
        let line = try #require(try stage.folder.lines("receipts.jsonl").first)
        try stage.folder.write("in.jsonl", line.bytes)
        let outcome = try await stage.run(
            "migrate", "in.jsonl", "--to", "out.jsonl", "--config", "closed.yaml", exit: 3)
        #expect(
            outcome.errors.hasSuffix(
                "receipt-bridge: stopped: the App Store Server API cannot be reached; run the same command again to resume\n"
            ),
            "\(outcome.errors)")
        #expect(try stage.folder.lines("out.jsonl").map { $0["outcome"]?.text } == ["failed"])
        try await stage.run("migrate", "in.jsonl", "--to", "out.jsonl", exit: 0)
    }

    @Test(
        "The progress shows in 40 columns until when a command waits for Apple's rate limit",
        .timeLimit(.minutes(2)),
        arguments: [
            ["compare", "receipts.jsonl"], ["notifications", "history"], ["refunds", "sweep", "--ids", "ids.txt"],
        ])
    func progressWaits(words: [String]) async throws {
        let (stage, _) = try await stage()
        limit(stage, retryAfter: "500")
        let terminal = try PseudoTerminal(columns: 40)
        let running = try Running(words + ["--config", "receipt-bridge.yaml"], in: stage.folder, terminal: terminal)
        let waits = await eventually(within: .seconds(45)) {
            terminal.progress.contains { $0.wholeMatch(of: /waiting for Apple until \d\d:\d\d/) != nil }
        }
        #expect(waits, "\(terminal.text)")
        #expect(terminal.progress.allSatisfy { $0.count <= 37 }, "\(terminal.progress)")
        running.kill()
        _ = await running.end()
    }

    @Test("migrate shows until when it waits for Apple, makes no call before, and ends with 3 after a signal")
    func migrateWaits() async throws {
        let (stage, _) = try await stage()
        limit(stage, retryAfter: "500")
        let running = try stage.start("migrate", "receipts.jsonl", "--to", "out.jsonl")
        let isLogged = await eventually(within: .seconds(45)) {
            running.errors.contains(/looking up customers: 0 of \d+, .*, waiting for Apple until \d\d:\d\d\n/)
        }
        #expect(isLogged, "\(running.errors)")
        let calls = stage.appStore.requests.total
        // Two more lines of progress, which only wait.
        let shown = running.errors.matches(of: /waiting for Apple until/).count
        #expect(
            await eventually(within: .seconds(45)) {
                running.errors.matches(of: /waiting for Apple until/).count >= shown + 2
            })
        #expect(stage.appStore.requests.total == calls)
        running.stop()
        #expect(await running.end() == 3, "\(running.errors)")
    }
}
