import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Gradual switch from end to end")
struct RolloutTests {
    /// Counts the responses by source, and knows how far the receipts were posted.
    private struct Client {
        let receipts: [[UInt8]]
        var next = 0
        var sources: [String: Int] = [:]

        /// Posts the receipts in turn, as many as named.
        mutating func post(_ count: Int, to server: Running) async throws {
            let connection = try RawConnection(port: try await server.port())
            for _ in 0..<count {
                let request = RawConnection.post("/verifyReceipt", receipts[next % receipts.count])
                next += 1
                let answer = try await connection.ask(request)
                sources[answer.header("Receipt-Bridge-Source") ?? "-", default: 0] += 1
            }
        }
    }

    private func configure(_ stage: CommandFixture, percent: Int) throws {
        let rollout = "rollout: {source: api, percent: \(percent), stopAt: 0.5}"
        try stage.configure("rollout.yaml", store: "sqlite:bridge.sqlite", answer: "[apple, receipt]\n    \(rollout)")
    }

    @Test("A rollout that meets planted differences goes back to 0 within 200 answers and stays there over a restart")
    func planted() async throws {
        let stage = try await CommandFixture(customers: 36)
        try configure(stage, percent: 100)
        // Apple knows nothing of the purchases in a receipt: every customer differs.
        stage.appStore.faults.add(
            SimulatedFault(.body(#"{"status":0,"environment":"Production","receipt":{"in_app":[]}}"#)))
        var client = Client(
            receipts: stage.appStore.receipts.filter { !$0.originalTransactionIds.isEmpty }.map(\.question))
        #expect(client.receipts.count > 40)

        let first = try await stage.serve("rollout.yaml")
        #expect(await eventually { first.errors.contains("rollout is running") }, "\(first.errors)")
        // As fast as the server answers. What is not compared yet limits the share.
        let deadline = ContinuousClock.now + .seconds(60)
        while !first.errors.contains("rollout stopped"), ContinuousClock.now < deadline {
            try await client.post(20, to: first)
        }
        #expect(first.errors.contains("rollout stopped"), "\(client.sources)")
        let answered = client.sources["api", default: 0]
        #expect((20...200).contains(answered), "\(client.sources)")
        try await client.post(60, to: first)
        #expect(client.sources["api"] == answered, "\(client.sources)")
        await first.finish()

        let second = try await stage.serve("rollout.yaml")
        #expect(await eventually { second.errors.contains("rollout stopped") }, "\(second.errors)")
        try await client.post(60, to: second)
        #expect(client.sources["api"] == answered, "\(client.sources)")

        // Other values are another rollout, which begins after a reload, too.
        try configure(stage, percent: 90)
        second.hangUp()
        #expect(await eventually { second.errors.contains("rollout is running") }, "\(second.errors)")
        try await client.post(40, to: second)
        #expect(client.sources["api", default: 0] > answered, "\(client.sources)")
        await second.finish()
    }
}
