import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("forget")
struct ForgetTests {
    private struct Client {
        let port: Int

        func source(of receipt: String) async throws -> String? {
            let connection = try RawConnection(port: port)
            let body = Question.body(receipt, password: SimulatedApp.first.sharedSecret)
            try await connection.send(RawConnection.post("/verifyReceipt", body))
            return try await connection.answer()?.header("Receipt-Bridge-Source")
        }

        func becomes(_ source: String, _ receipt: String) async -> Bool {
            await eventually { (try? await self.source(of: receipt)) == source }
        }
    }

    private func holds(_ text: String, _ folder: TemporaryFolder) throws -> Bool {
        try ["", "-wal"].contains { suffix in
            let file = folder.url.appending(path: "bridge.sqlite\(suffix)")
            guard FileManager.default.fileExists(atPath: file.path) else { return false }
            return try Data(contentsOf: file).firstRange(of: Data(text.utf8)) != nil
        }
    }

    @Test("forget erases one customer while a server runs; the server looks that customer up again and no other")
    func running() async throws {
        let stage = try await CommandFixture(customers: 24)
        try stage.configure("stored.yaml", store: "sqlite:bridge.sqlite", answer: "[stored, api, receipt]")
        let server = try stage.start("serve", "--config", "stored.yaml", "--listen", "127.0.0.1:0")
        let client = Client(port: try await server.port())
        let lines = try stage.folder.lines("receipts.jsonl").filter { line in
            line["style"]?.text == "appReceipt" && line["environment"]?.text == "Production"
                && line["originalTransactionIds"]?.elements?.count == 1
        }
        try #require(lines.count >= 2)
        func receipt(_ index: Int) throws -> String { try #require(lines[index]["receipt"]?.text) }
        let id = try #require(lines[0]["originalTransactionIds"]?.elements?.first?.text)
        for index in 0...1 { #expect(await client.becomes("stored", try receipt(index))) }
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

        let before = try await stage.calls
        #expect(try await client.source(of: receipt(1)) == "stored")
        #expect(try await stage.calls == before)
        // Not from a cache: the App Store is called.
        #expect(try await client.source(of: receipt(0)) == "api")
        #expect(try await stage.calls > before)
        #expect(!server.errors.contains(id) && !outcome.errors.contains(id))
        server.stop()
        #expect(await server.end() == 0)
        await stage.stop()
    }

    @Test("forget exits with 1 if a customer is unknown, and with 2 if no customer is named")
    func mistakes() async throws {
        let stage = try await CommandFixture(customers: 2)
        let missing = try await stage.run("forget", "--original-transaction-id", "730000000000001")
        #expect(missing.exit == 2 && missing.errors.contains("there is no such store"), "\(missing.errors)")
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
        await stage.stop()
    }
}
