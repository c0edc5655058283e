import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Gradual switch from end to end")
struct RolloutTests {
    /// Counts the responses by source, and knows how far the receipts were posted.
    private struct Client {
        let stage: CommandFixture
        let receipts: [String]
        var next = 0
        var sources: [String: Int] = [:]

        init(_ stage: CommandFixture) {
            self.stage = stage
            receipts = stage.appStore.receipts.filter { !$0.originalTransactionIds.isEmpty }.map(\.base64)
        }

        /// Posts the receipts in turn, as many as named.
        mutating func post(_ count: Int, to port: Int) async throws {
            let connection = try RawConnection(port: port)
            for _ in 0..<count {
                let body = Question.body(receipts[next % receipts.count], password: SimulatedApp.first.sharedSecret)
                next += 1
                try await connection.send(RawConnection.post("/verifyReceipt", body))
                let answer = try #require(try await connection.answer())
                sources[answer.header("Receipt-Bridge-Source") ?? "-", default: 0] += 1
            }
        }
    }

    private func configure(_ stage: CommandFixture, percent: Int) throws {
        let rollout = "rollout: {source: api, percent: \(percent), stopAt: 0.5}"
        try stage.configure("rollout.yaml", store: "sqlite:bridge.sqlite", answer: "[apple, receipt]\n    \(rollout)")
    }

    private func start(_ stage: CommandFixture) throws -> Running {
        try stage.start("serve", "--config", "rollout.yaml", "--listen", "127.0.0.1:0")
    }

    @Test("A rollout that meets planted differences goes back to 0 within 200 answers and stays there over a restart")
    func planted() async throws {
        let stage = try await CommandFixture(customers: 36)
        try configure(stage, percent: 100)
        // Apple knows nothing of the purchases in a receipt: every customer differs.
        try await stage.ask(
            "POST", "/faults",
            .object([
                "kind": .string("body"), "endpoint": .string("verifyReceipt"),
                "body": .string(#"{"status":0,"environment":"Production","receipt":{"in_app":[]}}"#),
            ]))
        var client = Client(stage)
        #expect(client.receipts.count > 40)

        let first = try start(stage)
        let port = try await first.port()
        #expect(await eventually { first.errors.contains("rollout is running") }, "\(first.errors)")
        // As fast as the server answers. What is not compared yet limits the share.
        let deadline = ContinuousClock.now + .seconds(60)
        while !first.errors.contains("rollout stopped"), ContinuousClock.now < deadline {
            try await client.post(20, to: port)
        }
        #expect(first.errors.contains("rollout stopped"), "\(client.sources)")
        let answered = client.sources["api", default: 0]
        #expect((20...200).contains(answered), "\(client.sources)")
        try await client.post(60, to: port)
        #expect(client.sources["api"] == answered, "\(client.sources)")
        first.stop()
        #expect(await first.end() == 0)

        let second = try start(stage)
        let secondPort = try await second.port()
        #expect(await eventually { second.errors.contains("rollout stopped") }, "\(second.errors)")
        try await client.post(60, to: secondPort)
        #expect(client.sources["api"] == answered, "\(client.sources)")

        // Other values are another rollout, which begins after a reload, too.
        try configure(stage, percent: 90)
        second.hangUp()
        #expect(await eventually { second.errors.contains("rollout is running") }, "\(second.errors)")
        try await client.post(40, to: secondPort)
        #expect(client.sources["api", default: 0] > answered, "\(client.sources)")
        second.stop()
        #expect(await second.end() == 0)
        await stage.stop()
    }
}
