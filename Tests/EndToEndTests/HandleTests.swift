import Base
import Foundation
import Simulator
import Testing
import TestSupport

@Suite("Handles between servers")
struct HandleTests {
    /// A running server.
    private struct Server {
        let process: Running
        let port: Int

        /// The response to an item in `receipt-data`.
        func ask(_ item: String) async throws -> JSONValue {
            let connection = try RawConnection(port: port)
            try await connection.send(RawConnection.post("/verifyReceipt", Question.body(item)))
            let answer = try #require(try await connection.answer())
            #expect(answer.status == 200)
            return try JSONValue(reading: answer.body)
        }

        func status(_ item: String) async throws -> Int64? { try await ask(item)["status"]?.integer }

        func stop() async {
            process.stop()
            #expect(await process.end() == 0)
        }
    }

    /// A simulated App Store, and configurations of servers in front of it.
    private struct Stage {
        let fixture: CommandFixture
        let signed: String
        let original: String

        init() async throws {
            fixture = try await CommandFixture(customers: 8)
            let customer = try #require(fixture.customers().first { $0.kind == .activeSubscription })
            let line = try #require(try fixture.appStore.signedLine(of: customer))
            signed = try #require(line["signedTransaction"]?.text)
            original = try #require(line["originalTransactionId"]?.text)
            for name in ["one", "two"] { try fixture.folder.write("\(name).key", "the key of servers \(name)".utf8) }
        }

        /// Starts a server with a store and key files of its own.
        func start(_ name: String, keys: String...) async throws -> Server {
            try fixture.configure("\(name).yaml", store: "sqlite:\(name).sqlite", answer: "[stored, api]")
            let yaml = try String(contentsOf: fixture.folder.url.appending(path: "\(name).yaml"), encoding: .utf8)
            let files = keys.map { "{file: \($0)}" }.joined(separator: ", ")
            try fixture.folder.write("\(name).yaml", (keys.isEmpty ? yaml : "handleKeys: [\(files)]\n\(yaml)").utf8)
            let process = try fixture.start("serve", "--config", "\(name).yaml", "--listen", "127.0.0.1:0")
            return Server(process: process, port: try await process.port())
        }
    }

    private static func subscription(_ answer: JSONValue) -> [JSONValue?] {
        [answer["latest_receipt_info"], answer["pending_renewal_info"]]
    }

    // T34
    @Test("A server accepts the handle of another server with the same key file, and refuses it without that key")
    func betweenServers() async throws {
        let stage = try await Stage()
        let first = try await stage.start("first", keys: "one.key")
        let answer = try await first.ask(stage.signed)
        let handle = try #require(answer["latest_receipt"]?.text)
        #expect(answer["status"]?.integer == 0)
        await first.stop()

        // The first server has ended, and the others have never seen the customer.
        let second = try await stage.start("second", keys: "two.key", "one.key")
        let theirs = try await second.ask(handle)
        #expect(theirs["status"]?.integer == 0)
        #expect(Self.subscription(theirs) == Self.subscription(answer))
        let next = try #require(theirs["latest_receipt"]?.text)
        #expect(try await second.status(next) == 0)
        await second.stop()
        for (name, keys) in [("other", ["two.key"]), ("own", [])] {
            let stranger =
                try await keys.isEmpty ? stage.start(name) : stage.start(name, keys: keys[0])
            #expect(try await stranger.status(handle) == 21003, "\(name)")
            #expect(try await stranger.status(stage.signed) == 0, "\(name)")
            #expect(try await stranger.status(next) == (keys.isEmpty ? 21003 : 0), "\(name)")
            await stranger.stop()
        }
        await stage.fixture.stop()
    }

    // T34
    @Test("A handle issued before forget is refused, also after a restart, and a newly issued one is accepted")
    func forgotten() async throws {
        let stage = try await Stage()
        var server = try await stage.start("bridge", keys: "one.key")
        let handle = try #require(try await server.ask(stage.signed)["latest_receipt"]?.text)
        #expect(try await server.status(handle) == 0)
        let forget = ["forget", "--config", "bridge.yaml", "--original-transaction-id", stage.original]
        #expect(
            await eventually(every: .milliseconds(50)) {
                (try? await stage.fixture.run(forget + ["--dry-run"]))?.exit == 0
            })
        let outcome = try await stage.fixture.run(forget)
        #expect(outcome.exit == 0, "\(outcome.errors)")
        #expect(try await server.status(handle) == 21003)
        await server.stop()
        server = try await stage.start("bridge", keys: "one.key")
        #expect(try await server.status(handle) == 21003)
        let issued = try #require(try await server.ask(stage.signed)["latest_receipt"]?.text)
        #expect(try await server.status(issued) == 0)
        await server.stop()
        await stage.fixture.stop()
    }

    // T34
    @Test(
        "A key file that cannot be read stops the start, a reload keeps the keys; a store that cannot be read is 21005")
    func unreadable() async throws {
        let stage = try await Stage()
        let server = try await stage.start("bridge", keys: "one.key")
        let handle = try #require(try await server.ask(stage.signed)["latest_receipt"]?.text)
        try FileManager.default.removeItem(atPath: stage.fixture.folder.path("one.key"))
        server.process.hangUp()
        #expect(await eventually { server.process.errors.contains("configuration reload failed") })
        #expect(try await server.status(handle) == 0)
        await server.stop()
        let refused = try stage.fixture.start("serve", "--config", "bridge.yaml", "--listen", "127.0.0.1:0")
        #expect(await refused.end() == 2)
        #expect(refused.errors.contains("handleKeys[0]") && refused.errors.contains("one.key"), "\(refused.errors)")

        // A directory is not a database.
        try FileManager.default.createDirectory(
            atPath: stage.fixture.folder.path("closed.sqlite"), withIntermediateDirectories: false)
        let closed = try await stage.start("closed")
        let answer = try await closed.ask(handle)
        #expect(answer["status"]?.integer == 21005)
        #expect(answer["is-retryable"] == .bool(true) && answer["is_retryable"] == .bool(true))
        // A customer who paid is answered without a handle.
        let signed = try await closed.ask(stage.signed)
        #expect(signed["status"]?.integer == 0 && signed["latest_receipt"] == nil)
        await closed.stop()
        await stage.fixture.stop()
    }
}
