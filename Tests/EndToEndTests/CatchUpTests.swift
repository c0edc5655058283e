import Foundation
import FoundationNetworking
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

/// The notification store after losses, duplicates, delays and kills.
@Suite("Replay after lost notifications")
struct CatchUpTests {
    /// The size of the simulated App Store. The server is killed after each round but the last.
    private static let size: (events: Int, rounds: Int, customers: Int) = TestSize.pick(
        debug: (150, 3, 30), release: (4_000, 5, 200))

    private static let secret = SimulatedApp.first.sharedSecret

    private struct Client {
        let port: Int

        func ask(_ path: String, _ body: [UInt8]? = nil) async throws -> (status: Int, source: String, body: [UInt8]) {
            var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
            request.timeoutInterval = 60
            if let body {
                request.httpMethod = "POST"
                request.httpBody = Data(body)
            }
            let (data, response) = try await URLSession.shared.data(for: request)
            let http = try #require(response as? HTTPURLResponse)
            return (http.statusCode, http.value(forHTTPHeaderField: "Receipt-Bridge-Source") ?? "", [UInt8](data))
        }

        func json(_ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
            try JSONValue(reading: try await ask(path, body?.bytes).body)
        }
    }

    /// A server process that keeps its port when it is killed and started again.
    private final class Server {
        private let folder: TemporaryFolder
        private let arguments: [String]
        private var running: Running
        let port: Int

        init(_ configuration: String, in folder: TemporaryFolder) async throws {
            self.folder = folder
            let first = try Running(["serve", "--config", configuration, "--listen", "127.0.0.1:0"], in: folder)
            port = try await first.port()
            running = first
            arguments = ["serve", "--config", configuration, "--listen", "127.0.0.1:\(port)"]
        }

        func killAndStart() async throws {
            running.kill()
            _ = await running.end()
            running = try Running(arguments, in: folder)
            _ = try await running.port()
        }

        func stop() async {
            running.stop()
            _ = await running.end()
        }
    }

    @Test(
        "Stored responses equal fresh ones after lost, doubled and late events and kills of the server",
        // A release build delivers four thousand notifications and reads as many from the history.
        .timeLimit(.minutes(5)))
    func everything() async throws {
        let folder = try TemporaryFolder()
        try folder.writeSharedKeys("state")
        let simulator = try Running(
            [
                "simulate", "--listen", "127.0.0.1:0", "--state", "state", "--customers", "\(Self.size.customers)",
                "--seed", "7",
            ],
            in: folder)
        let store = Client(port: try await simulator.port())
        let base = try String(contentsOf: folder.url.appending(path: "state/receipt-bridge.yaml"), encoding: .utf8)
        func configuration(_ name: String, _ answer: String, _ store: String) throws -> String {
            let lines = base.split(separator: "\n").filter { !$0.contains("answer:") && !$0.hasPrefix("operations") }
            let text =
                lines.joined(separator: "\n") + "\n    answer: [\(answer)]\n    cacheSeconds: 0\nstore: \(store)\n"
            try folder.write("state/\(name).yaml", Array(text.utf8))
            return "state/\(name).yaml"
        }
        let stored = try configuration("stored", "stored, api", "sqlite:bridge.sqlite")
        let server = try await Server(stored, in: folder)
        let receipts = try folder.lines("state/receipts.jsonl").filter {
            $0["originalTransactionIds"]?.elements?.isEmpty == false
        }
        // Two at a time, so that the server works while this process reads a response.
        @Sendable func answers(_ port: Int) async throws -> [(source: String, answer: [String: String])] {
            async let first = answers(port, receipts.prefix(receipts.count / 2))
            async let second = answers(port, receipts.dropFirst(receipts.count / 2))
            return try await first + second
        }
        @Sendable func answers(
            _ port: Int, _ receipts: ArraySlice<JSONValue>
        ) async throws -> [(source: String, answer: [String: String])] {
            var answers: [(String, [String: String])] = []
            for receipt in receipts {
                let body = Question.body(try #require(receipt["receipt"]?.text), password: Self.secret)
                let answer = try await Client(port: port).ask("/verifyReceipt", body)
                answers.append((answer.source, try Self.members(of: answer.body)))
            }
            return answers
        }
        // Looks up every customer's complete history once.
        #expect(try await answers(server.port).allSatisfy { ["api", "stored"].contains($0.source) })
        _ = try await store.ask(
            "/notifications/targets",
            JSONValue.object(["url": .string("http://127.0.0.1:\(server.port)/v1/notifications")]).bytes)
        let rounds = Self.size.rounds
        for round in 1...rounds {
            let body =
                JSONValue.object([
                    "count": .number(Int64(Self.size.events / rounds)), "seed": .number(Int64(round)),
                ]).bytes.dropLast() + Array(#","lost":0.05,"doubled":0.05,"shuffled":0.2,"speed":3600000}"#.utf8)
            _ = try await store.ask("/events", Array(body))
            if round < rounds { try await server.killAndStart() }
        }
        let arrived = await eventually(within: .seconds(60), every: .milliseconds(20)) {
            (try? await store.json("/notifications/deliveries")["waiting"]?.integer) == 0
        }
        let deliveries = try await store.json("/notifications/deliveries")
        #expect(arrived, "\(deliveries)")
        print("deliveries: \(String(decoding: deliveries.bytes, as: UTF8.self))")
        #expect((deliveries["lost"]?.integer ?? 0) > Self.size.events / 40)

        for environment in ["production", "sandbox"] {
            let replay = try await Binary.run(
                Binary.url,
                ["notifications", "history", "--replay", "--environment", environment, "--config", stored], in: folder)
            #expect(replay.exit == 0, "\(replay.errors)")
            print("\(environment): \(replay.errors)")
        }
        let fresh = try await Server(try configuration("fresh", "api", "none"), in: folder)
        let expected = try await answers(fresh.port)
        var first = try await answers(server.port)
        let fromStore = first.count { $0.source == "stored" }
        print("\(receipts.count) receipts, \(fromStore) answered from the store at once")
        // Almost every customer had an upgrade, a new subscription or an expiry without a notification, and is looked
        // up first. Whether the next receipt of the same customer comes from the store then depends on how long the
        // write takes, so only later responses are checked.
        first = try await answers(server.port)
        var again = try await answers(server.port)
        func isMostlyStored() -> Bool { again.count { $0.source == "stored" } > receipts.count * 9 / 10 }
        // On a busy machine, writes can still be waiting.
        for _ in 0..<3 where !isMostlyStored() { again = try await answers(server.port) }
        #expect(isMostlyStored())
        var unequal: [String] = []
        for (index, receipt) in receipts.enumerated() {
            let id = receipt["id"]?.text ?? ""
            for (name, answer) in [("first", first[index]), ("again", again[index])]
            where answer.answer != expected[index].answer {
                let fields = Set(answer.answer.keys).union(expected[index].answer.keys).filter {
                    answer.answer[$0] != expected[index].answer[$0]
                }
                unequal.append("\(id) \(name) \(answer.source): \(fields.sorted())")
                for field in fields {
                    print(
                        "\(id) \(name) \(field)\n  \(answer.answer[field] ?? "nothing")\n  \(expected[index].answer[field] ?? "nothing")"
                    )
                }
            }
        }
        #expect(unequal == [], "\(unequal.count)")
        await server.stop()
        await fresh.stop()
        simulator.stop()
        _ = await simulator.end()
    }

    /// Returns the members of a response and of its `receipt`, without the date of the request.
    static func members(of body: [UInt8]) throws -> [String: String] {
        guard case .object(let members) = try JSONValue(reading: body) else { return [:] }
        var values: [String: String] = [:]
        for member in members {
            guard member.key == "receipt", case .object(let inner) = member.value else {
                values[member.key] = String(decoding: member.value.bytes, as: UTF8.self)
                continue
            }
            for member in inner where !member.key.hasPrefix("request_date") {
                values["receipt.\(member.key)"] = String(decoding: member.value.bytes, as: UTF8.self)
            }
        }
        return values
    }
}
