import ReceiptBridgeBase
import Foundation
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("serve and forwarding")
struct ForwardingTests {
    @Test("A notification that a killed server accepted is forwarded by the next one, listed, and replayed on request")
    func killed() async throws {
        let isRepaired = Mutex(false)
        let consumer = try TestServer { _ in isRepaired.withLock { $0 } ? .respond() : .never }
        func bodies(_ path: String) -> [[UInt8]] { consumer.requests.filter { $0.path == path }.map(\.body) }
        let folder = try TemporaryFolder.simulated()
        let targets = ["raw", "camel"].map { "      - {url: \"http://127.0.0.1:\(consumer.port)/\($0)\", as: \($0)}\n" }
        try folder.write(
            "receipt-bridge.yaml", try folder.text("receipt-bridge.yaml") + "    forward:\n" + targets.joined())
        let body = try SharedSimulator.pki.notification("TEST", "one", in: .sandbox, at: .now)
        let first = try await Running.serve("--config", "receipt-bridge.yaml", in: folder)
        try await first.notify(body)
        first.kill()
        #expect(await first.end() == -9)
        func list(_ more: String...) async throws -> Binary.Outcome {
            try await Binary.run(
                Binary.url, ["forwarding", "list", "--config", "receipt-bridge.yaml"] + more, in: folder)
        }
        let waiting = try await list()
        #expect(waiting.exit == 0 && waiting.lines.count == 2, "\(waiting.errors)")
        #expect(waiting.lines.allSatisfy { $0["state"]?.text == "waiting" && $0["notificationUUID"]?.text == "one" })
        #expect(waiting.lines.compactMap { $0["as"]?.text } == ["raw", "camel"])

        isRepaired.withLock { $0 = true }
        let earlier = (raw: bodies("/raw").count, camel: bodies("/camel").count)
        let second = try await Running.serve("--config", "receipt-bridge.yaml", in: folder)
        #expect(
            await eventually { bodies("/raw").count == earlier.raw + 1 && bodies("/camel").count == earlier.camel + 1 })
        #expect(bodies("/raw").last == body)
        #expect(
            await eventually(every: .milliseconds(100)) {
                (try? await list().lines.allSatisfy { $0["state"]?.text == "delivered" }) ?? false
            })
        #expect(try await list("--dead").text.isEmpty)
        // While the server runs.
        let replay = ["forwarding", "replay", "--config", "receipt-bridge.yaml"]
        let nothing = try await Binary.run(Binary.url, replay + ["--all-dead"], in: folder)
        #expect(nothing.exit == 1 && nothing.text.isEmpty)
        let again = try await Binary.run(
            Binary.url,
            replay + ["--notification", "one", "--target", "http://127.0.0.1:\(consumer.port)/camel"], in: folder)
        #expect(again.exit == 0 && again.lines.compactMap { $0["as"]?.text } == ["camel"])
        #expect(await eventually { bodies("/camel").count == earlier.camel + 2 })
        for wrong in [[], ["--all-dead", "--notification", "one"]] {
            #expect(try await Binary.run(Binary.url, replay + wrong, in: folder).exit == 2)
        }
        await second.finish()
        #expect(bodies("/raw").count == earlier.raw + 1)
        try await Binary.run("forwarding", "list", in: TemporaryFolder(), exit: 2, says: "no store is configured")
    }
}
