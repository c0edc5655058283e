import Foundation
import GRDB
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("migrate fills the store", .timeLimit(.minutes(1)))
struct MigrateStoreTests {
    /// A source with a receipt of each kind, and a configuration that only the store answers.
    private func stage() async throws -> (fixture: CommandFixture, receipts: [JSONValue]) {
        let fixture = try await CommandFixture(customers: 12)
        try fixture.configure("stored.yaml", store: "sqlite:bridge.sqlite", answer: "[stored]")
        let receipts = try fixture.folder.lines("receipts.jsonl").filter {
            $0["originalTransactionIds"]?.elements?.isEmpty == false
        }
        try fixture.folder.write("in.jsonl", receipts.flatMap { $0.bytes + [0x0A] })
        return (fixture, receipts)
    }

    private func count(of table: String, in fixture: CommandFixture) async throws -> Int? {
        try await DatabaseQueue(path: fixture.folder.path("bridge.sqlite")).read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)")
        }
    }

    @Test("A server that runs meanwhile answers every looked-up customer from the store, without a call")
    func answered() async throws {
        let (fixture, receipts) = try await stage()
        let server = try fixture.start("serve", "--config", "stored.yaml", "--listen", "127.0.0.1:0")
        let port = try await server.port()
        func statuses() async throws -> [Int] {
            var statuses: [Int] = []
            for receipt in receipts {
                let connection = try RawConnection(port: port)
                let body = Question.body(receipt["receipt"]?.text ?? "", password: SimulatedApp.first.sharedSecret)
                try await connection.send(RawConnection.post("/verifyReceipt", body))
                let answer = try #require(try await connection.answer())
                statuses.append(Int(try JSONValue(reading: answer.body)["status"]?.integer ?? -1))
            }
            return statuses
        }
        #expect(try await statuses().allSatisfy { $0 == 21_005 })
        let outcome = try await fixture.run(
            "migrate", "in.jsonl", "--to", "out.jsonl", "--config", "stored.yaml", "--budget", "1")
        #expect(outcome.exit == 0, "\(outcome.errors)")
        let customers = try #require(try await count(of: "customer", in: fixture))
        #expect(outcome.errors.contains("\(customers) customers are in the store, which a server answers"))
        #expect(customers > 8)
        let calls = try await fixture.calls
        #expect(try await statuses().allSatisfy { [0, 21_006].contains($0) })
        #expect(try await fixture.calls == calls)
        let doctor = try await fixture.run("doctor", "--config", "stored.yaml", "--offline")
        #expect(doctor.text.contains("\(customers) can be answered without Apple"), "\(doctor.text)")
        server.stop()
        _ = await server.end()
        await fixture.stop()
    }

    @Test("Nothing is saved with --no-store or --plan, and ids that nothing proves do not become aliases")
    func notFilled() async throws {
        let (fixture, receipts) = try await stage()
        for option in ["--plan", "--no-store"] {
            let outcome = try await fixture.run("migrate", "in.jsonl", "--to", "out.jsonl", option)
            #expect([0, 3].contains(outcome.exit) && !outcome.errors.contains("in the store"), "\(outcome.errors)")
            #expect(!FileManager.default.fileExists(atPath: fixture.folder.path("bridge.sqlite")))
            #expect(FileManager.default.fileExists(atPath: fixture.folder.path("out.jsonl")) == (option != "--plan"))
        }
        let ids = receipts.prefix(2).compactMap { $0["originalTransactionIds"]?.elements?.first?.text }
        try fixture.folder.write("ids.jsonl", "{\"id\":\"a\",\"receipt\":\"\(ids[0]),99999999\"}\n".utf8)
        let outcome = try await fixture.run("migrate", "ids.jsonl", "--to", "ids-out.jsonl", "--allow-unverified")
        #expect(outcome.exit == 0, "\(outcome.errors)")
        #expect(try await count(of: "customer", in: fixture) == 1)
        #expect(try await count(of: "companion", in: fixture) == 0)
        await fixture.stop()
    }
}
