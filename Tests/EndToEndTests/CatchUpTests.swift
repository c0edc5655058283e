import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// The notification store after losses, duplicates, delays and kills.
@Suite("Replay after lost notifications")
struct CatchUpTests {
    /// The size of the simulated App Store. The server is killed after each round but the last.
    private static let size: (events: Int, rounds: Int, customers: Int) = TestSize.pick(
        debug: (150, 3, 30), release: (4_000, 5, 200))

    /// A server process that keeps its port when it is killed and started again.
    private final class Server {
        private let folder: TemporaryFolder
        private let arguments: [String]
        private(set) var running: Running

        init(_ configuration: String, in folder: TemporaryFolder) async throws {
            self.folder = folder
            running = try await Running.serve("--config", configuration, in: folder)
            arguments = ["serve", "--config", configuration, "--listen", "127.0.0.1:\(try await running.port())"]
        }

        func killAndStart() async throws {
            running.kill()
            _ = await running.end()
            running = try Running(arguments, in: folder)
            _ = try await running.port()
        }
    }

    @Test(
        "Stored responses equal fresh ones after lost, doubled and late events and kills of the server",
        // A release build delivers four thousand notifications and reads as many from the history.
        .timeLimit(.minutes(5)))
    func everything() async throws {
        let stage = try await CommandFixture(customers: Self.size.customers)
        let (folder, appStore) = (stage.folder, stage.appStore)
        try stage.configure(
            "stored.yaml", store: "sqlite:bridge.sqlite", answer: "[stored, api]", more: "\n    cacheSeconds: 0\n")
        try stage.configure("fresh.yaml", store: "none", answer: "[api]", more: "\n    cacheSeconds: 0\n")
        let server = try await Server("stored.yaml", in: folder)
        let receipts = try folder.boughtReceipts().compactMap { $0["receipt"]?.text }
        // Two at a time, so that the server works while this process reads a response.
        @Sendable func answers(_ server: Running) async throws -> [StoredAnswer] {
            async let first = server.answers(to: receipts.prefix(receipts.count / 2))
            async let second = server.answers(to: receipts.dropFirst(receipts.count / 2))
            return try await first + second
        }
        // Looks up every customer's complete history once.
        #expect(try await answers(server.running).allSatisfy { ["api", "stored"].contains($0.source) })
        try await stage.notify(server.running)
        let rounds = Self.size.rounds
        var options = DeliveryOptions()
        (options.lost, options.doubled, options.shuffled, options.speed) = (0.05, 0.05, 0.2, 3_600_000)
        for round in 1...rounds {
            options.seed = UInt64(round)
            appStore.simulate(Self.size.events / rounds, seed: UInt64(round), options)
            if round < rounds { try await server.killAndStart() }
        }
        #expect(await stage.isQuiet(), "\(appStore.outbox.counts)")
        #expect(appStore.outbox.counts.lost > Self.size.events / 40)

        for environment in ["production", "sandbox"] {
            try await stage.run(
                "notifications", "history", "--replay", "--environment", environment, "--config", "stored.yaml", exit: 0
            )
        }
        let fresh = try await stage.serve("fresh.yaml")
        let expected = try await answers(fresh)
        // Almost every customer had an upgrade, a new subscription or an expiry without a notification, and is looked
        // up first. Whether the next receipt of the same customer comes from the store then depends on how long the
        // write takes, so only later responses are checked.
        _ = try await answers(server.running)
        let first = try await answers(server.running)
        var again = try await answers(server.running)
        func isMostlyStored() -> Bool { again.count { $0.source == "stored" } > receipts.count * 9 / 10 }
        // On a busy machine, writes can still be waiting.
        for _ in 0..<3 where !isMostlyStored() { again = try await answers(server.running) }
        #expect(isMostlyStored())
        StoredAnswer.expect(first, equal: expected)
        StoredAnswer.expect(again, equal: expected)
        await server.running.finish()
        await fresh.finish()
    }
}
