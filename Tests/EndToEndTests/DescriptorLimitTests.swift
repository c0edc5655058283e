import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

#if os(Linux)
    @Suite("Limit of file descriptors")
    struct DescriptorLimitTests {
        /// Starts the tool with a limit of descriptors that a shell sets, for example `-S -n 64` or `-n 128`.
        private static func serve(_ limit: String, in folder: TemporaryFolder) throws -> Running {
            let command =
                "ulimit \(limit) && exec \"$0\" serve --config receipt-bridge.yaml --listen 127.0.0.1:0 --log-level info"
            return try Running(["-c", command, Binary.url.path], of: URL(filePath: "/bin/sh"), in: folder)
        }

        private static func folder() throws -> TemporaryFolder {
            let folder = try TemporaryFolder.simulated()
            let yaml = try folder.text("receipt-bridge.yaml")
                .replacing("answer: [apple, receipt]", with: "answer: [receipt]")
            try folder.write("receipt-bridge.yaml", "operations: {listen: 127.0.0.1:0}\n" + yaml)
            return folder
        }

        private static func question(_ folder: TemporaryFolder) throws -> [UInt8] {
            let receipt = try #require(folder.lines("receipts.jsonl").first?["receipt"]?.text)
            return RawConnection.post(
                "/verifyReceipt", Question.body(receipt, password: SimulatedApp.first.sharedSecret), ["Host: a"])
        }

        // T20
        @Test(
            "A server with few descriptors serves as many clients as fit, the others wait, and descriptors never run out",
            .timeLimit(.minutes(2))
        )
        func crowd() async throws {
            let folder = try Self.folder()
            let question = try Self.question(folder)
            let proxy = try Self.serve("-n 128", in: folder)
            let port = try await proxy.port()
            var clients: [RawConnection] = []
            var most = 0
            let ports = proxy.errors.matches(of: /Server started and listening on [^"]+?:(\d+)"/).compactMap {
                Int($0.1)
            }
            let operations = try RawConnection(port: try #require(ports.first { $0 != port }))
            // All 200 clients send a request. Those that are not accepted yet get a response after others have
            // disconnected or had to leave.
            for _ in 0..<200 {
                clients.append(try RawConnection(port: port))
                try await clients.last?.send(question)
            }
            for batch in 0..<20 {
                for client in clients.prefix(10) {
                    #expect(try await client.answer()?.verdict == 0, "\(batch)")
                    most = max(most, proxy.openFiles)
                }
                #expect(try await operations.ask(RawConnection.request("GET", "/healthz")).status == 200)
                for client in clients.prefix(10) { client.leave() }
                clients.removeFirst(10)
            }
            #expect(most > 40 && most < 128, "\(most)")
            #expect(
                proxy.errors.contains(
                    "file descriptor limit allows fewer connections than limits.connections; using the lower number"))
            #expect(try await proxy.ask(question).verdict == 0)
            await proxy.finish()
        }

        // T20
        @Test("The server raises the soft limit to the hard limit before it listens")
        func raised() async throws {
            let folder = try Self.folder()
            let proxy = try Self.serve("-S -n 64", in: folder)
            let port = try await proxy.port()
            let limits = try String(contentsOfFile: "/proc/\(proxy.identifier)/limits", encoding: .utf8)
            let line = try #require(limits.firstMatch(of: /Max open files +(\d+) +(\d+)/))
            #expect(line.1 == line.2 && line.1 != "64")
            var clients: [RawConnection] = []
            for _ in 0..<70 { clients.append(try RawConnection(port: port)) }
            let question = try Self.question(folder)
            for client in clients { #expect(try await client.ask(question).verdict == 0) }
            await proxy.finish()
        }

        // T20
        @Test("The server does not start if there are too few descriptors, and says so")
        func tooFew() async throws {
            let folder = try Self.folder()
            let proxy = try Self.serve("-n 64", in: folder)
            #expect(await proxy.end() == 2)
            #expect(
                proxy.errors.contains(
                    "receipt-bridge: 64 file descriptors are too few to run the server: raise the hard limit (ulimit -Hn)"
                ),
                "\(proxy.errors)")
        }
    }
#endif
