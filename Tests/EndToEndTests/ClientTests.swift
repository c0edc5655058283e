import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Real client libraries")
struct ClientTests {
    /// A Python with the clients of `Tests/Scripts/check/clients/requirements.txt`.
    private static let python = ProcessInfo.processInfo.environment["RECEIPT_BRIDGE_PYTHON"].flatMap {
        $0.isEmpty ? nil : URL(filePath: $0)
    }
    private static let clients = Repository.folder.appending(path: "Tests/Scripts/check/clients")

    @Test(
        "Client libraries get the expected responses without changes other than the host",
        .enabled(if: python != nil, "needs PyPI: make test-clients"), .timeLimit(.minutes(1)))
    func clients() async throws {
        let python = try #require(Self.python)
        let stage = try await CommandFixture(customers: 36, store: nil, clock: .fixed(SharedSimulator.noon))
        let proxy = try await stage.serve()
        try await Binary.run(
            python,
            [
                Self.clients.appending(path: "run.py").path, "--proxy", "http://127.0.0.1:\(try await proxy.port())",
                "--receipts", "receipts.jsonl", "--hostile", "hostile.jsonl", "--secret",
                SimulatedApp.first.sharedSecret,
            ], in: stage.folder, environment: ["NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"], exit: 0)
        await proxy.finish()
    }
}
