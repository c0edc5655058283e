import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

#if os(Linux)
    /// T20: clients that connect and send nothing, as many as the descriptors allow, to the built program.
    @Suite("Ten thousand idle clients")
    struct IdleConnectionTests {
        private static let target = TestSize.pick(debug: 2_000, release: 10_000)
        /// Number of other descriptors that this process and the server may have open. The server gives clients at
        /// least half of the rest.
        private static let others = 200
        /// Number of files that the server may open itself in the meantime, for example its store for another reader.
        private static let ownFiles = 8
        /// Maximum memory of the server for one idle connection in KB; 15 KB were measured in a debug build.
        private static let kilobytesEach = 64

        /// Waits until the condition is true. Checks less often than usual, because listing thousands of descriptors
        /// takes time.
        private static func becomes(_ isSo: (_ files: Int) -> Bool, _ process: Running) async -> Bool {
            await eventually(within: .seconds(30), every: .milliseconds(50)) { isSo(process.openFiles) }
        }

        // T20. Opening the connections may take 25 seconds, and the test waits twice for the server's descriptors.
        @Test(
            "Idle clients do not keep others from a response, and nothing of theirs stays open when they disconnect",
            .timeLimit(.minutes(2)))
        func silent() async throws {
            let limit = OpenFilesLimit(raisedTo: 2 * Self.target + Self.others)
            defer { limit.restore() }
            let allowed = limit.allowed
            let target = min(Self.target, (allowed - Self.others) / 2)
            try #require(target > 0)
            let folder = try TemporaryFolder.simulated()
            let yaml = try folder.text("receipt-bridge.yaml")
                .replacing("answer: [apple, receipt]", with: "answer: [receipt]")
            try folder.write("receipt-bridge.yaml", "limits: {connections: 20000}\n" + yaml)
            let receipt = try #require(folder.lines("receipts.jsonl").first?["receipt"]?.text)
            let proxy = try await Running.serve("--config", "receipt-bridge.yaml", in: folder)
            let port = try await proxy.port()
            let question = Question.body(receipt, password: SimulatedApp.first.sharedSecret)
            func ask() async throws -> Int64? {
                try await proxy.ask(RawConnection.post("/verifyReceipt", question, ["Host: a", "Connection: close"]))
                    .verdict
            }
            let requests = 3
            for _ in 0..<requests { #expect(try await ask() == 0) }
            // The server closes its ends of these connections. On a slow machine they may still be open afterwards.
            var files = -1
            _ = await eventually(within: .seconds(5), every: .milliseconds(100)) {
                let before = files
                files = proxy.openFiles
                return files == before
            }
            let filesBefore = proxy.openFiles
            let memoryBefore = try #require(Usage(of: proxy.identifier)).residentKilobytes

            let begin = ContinuousClock.now
            var idle: [RawConnection] = []
            // The server closes connections that are idle for a minute, so a slow machine opens as many as it can in
            // 25 seconds.
            for _ in 0..<target where begin.duration(to: .now) < .seconds(25) {
                idle.append(try RawConnection(port: port))
            }
            let count = idle.count
            #expect(count >= min(target, 1_000))
            // Waits, because the kernel accepts connections before the server does.
            let expected = filesBefore + count - requests
            #expect(
                await Self.becomes({ $0 >= expected }, proxy),
                "\(proxy.openFiles) of \(expected)")
            for _ in 0..<5 { #expect(try await ask() == 0) }
            let memory = try #require(Usage(of: proxy.identifier)).residentKilobytes - memoryBefore
            let taken = begin.duration(to: .now)
            #expect(memory < Self.kilobytesEach * count || Usage.isSanitized, "\(memory) KB")

            idle.removeAll()
            #expect(
                await Self.becomes({ $0 <= filesBefore + Self.ownFiles }, proxy),
                "\(proxy.openFiles) open, \(filesBefore) before")
            #expect(try await ask() == 0)
            let rest = try #require(Usage(of: proxy.identifier)).residentKilobytes - memoryBefore
            print(
                "idle connections: \(count) (\(allowed) descriptors allowed) in \(taken); \(memory) KB more, "
                    + "\(memory * 1_024 / count) bytes each; \(rest) KB more after all have disconnected")
            await proxy.finish()
        }
    }
#endif
