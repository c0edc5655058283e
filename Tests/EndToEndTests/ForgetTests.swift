import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("forget")
struct ForgetTests {
    private func source(of receipt: String, _ server: Running) async throws -> String? {
        try await server.verify(receipt).header("Receipt-Bridge-Source")
    }

    private func holds(_ text: String, _ folder: TemporaryFolder) throws -> Bool {
        try ["", "-wal"].contains { suffix in
            let name = "bridge.sqlite\(suffix)"
            guard FileManager.default.fileExists(atPath: folder.path(name)) else { return false }
            return try folder.read(name).firstRange(of: Array(text.utf8)) != nil
        }
    }

    @Test("forget erases one customer while a server runs; the server looks that customer up again and no other")
    func running() async throws {
        let stage = try await CommandFixture(customers: 24)
        try stage.configure("stored.yaml", store: "sqlite:bridge.sqlite", answer: "[stored, api, receipt]")
        let server = try await stage.serve("stored.yaml")
        let lines = try stage.folder.lines("receipts.jsonl").filter { line in
            line["style"]?.text == "appReceipt" && line["environment"]?.text == "Production"
                && line["originalTransactionIds"]?.elements?.count == 1
        }
        try #require(lines.count >= 2)
        func receipt(_ index: Int) throws -> String { try #require(lines[index]["receipt"]?.text) }
        let id = try #require(lines[0]["originalTransactionIds"]?.elements?.first?.text)
        for index in 0...1 {
            let text = try receipt(index)
            #expect(await eventually { (try? await source(of: text, server)) == "stored" })
        }
        #expect(try holds(id, stage.folder))

        let forget = ["forget", "--config", "stored.yaml", "--original-transaction-id", id]
        let preview = try await stage.run(forget + ["--dry-run"])
        #expect(preview.exit == 0 && preview.lines.first?["dryRun"] == .bool(true), "\(preview.errors)")
        let outcome = try await stage.run(forget)
        let line = try #require(outcome.lines.first, "\(outcome.errors)")
        #expect(outcome.exit == 0 && outcome.lines.count == 1)
        #expect(line.keys == ["dryRun", "found", "erased", "waitingDeliveries", "kept", "rewritten", "notCovered"])
        #expect(line["erased"] == preview.lines.first?["erased"] && line["rewritten"] == .bool(true))
        #expect(line["erased"]?["customers"]?.integer == 1)
        #expect(try !holds(id, stage.folder))
        #expect(await eventually(within: .seconds(20)) { server.errors.contains("customer data was erased") })
        #expect(try !holds(id, stage.folder))

        let before = stage.appStore.requests.total
        #expect(try await source(of: receipt(1), server) == "stored")
        #expect(stage.appStore.requests.total == before)
        // Not from a cache: the App Store is called.
        #expect(try await source(of: receipt(0), server) == "api")
        #expect(stage.appStore.requests.total > before)
        #expect(!server.errors.contains(id) && !outcome.errors.contains(id))
        await server.finish()
    }

    @Test("forget exits with 1 if a customer is unknown, and with 2 if no customer is named")
    func mistakes() async throws {
        let stage = try await CommandFixture(customers: 2)
        try await stage.run(
            "forget", "--original-transaction-id", "730000000000001", exit: 2, says: "there is no such store")
        #expect(try await stage.run("notifications", "history", "--replay").exit == 0)
        let unknown = try await stage.run("forget", "--app-account-token", "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f")
        #expect(unknown.exit == 1 && unknown.lines.first?["erased"]?.keys == [], "\(unknown.errors)")
        #expect(unknown.errors.contains("the store has no data of that customer"))
        let alone = try await stage.run("forget", "--rewrite")
        #expect(alone.exit == 0 && alone.output.isEmpty, "\(alone.errors)")
        for (words, reason) in [
            ([], "--original-transaction-id"), (["--original-transaction-id", "0"], "1 to 20 digits"),
            (["--app-account-token", "x"], "a UUID"), (["--rewrite", "--environment", "mars"], "mars"),
            (["--original-transaction-id", "1", "--app-account-token", "x"], "either"),
        ] as [([String], String)] { try await stage.expectRefusal(["forget"] + words, reason) }
    }
}
