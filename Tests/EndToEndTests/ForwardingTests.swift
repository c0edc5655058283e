import ReceiptBridgeBase
import Foundation
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("serve and forwarding")
struct ForwardingTests {
    private func folder(_ port: Int) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let store = try SharedSimulator.store(customers: 4)
        try StateDirectory(folder.url.path).write(store, host: "127.0.0.1", port: 9)
        let yaml = try String(contentsOf: folder.url.appending(path: "receipt-bridge.yaml"), encoding: .utf8)
        let targets = ["raw", "camel"].map { "      - {url: \"http://127.0.0.1:\(port)/\($0)\", as: \($0)}\n" }
        try folder.write("receipt-bridge.yaml", (yaml + "    forward:\n" + targets.joined()).utf8)
        return folder
    }

    private func notification(_ uuid: String) throws -> [UInt8] {
        let payload = JSONValue.object([
            "notificationType": .string("TEST"), "notificationUUID": .string(uuid), "version": .string("2.0"),
            "signedDate": .number(Int64(Date().timeIntervalSince1970 * 1_000)),
            "data": .object([
                "bundleId": .string(SimulatedApp.first.bundleId), "environment": .string("Sandbox"),
            ]),
        ])
        return JSONValue.object(["signedPayload": .string(try SharedSimulator.pki.jwsSigner.jws(payload: payload))])
            .bytes
    }

    private func serve(in folder: TemporaryFolder) throws -> Running {
        try Running(["serve", "--config", "receipt-bridge.yaml", "--listen", "127.0.0.1:0"], in: folder)
    }

    @Test("A notification that a killed server accepted is forwarded by the next one, listed, and replayed on request")
    func killed() async throws {
        let isRepaired = Mutex(false)
        let bodies = Mutex<[String: [[UInt8]]]>([:])
        let consumer = try TestServer { request in
            bodies.withLock { $0[request.path, default: []].append(request.body) }
            return isRepaired.withLock { $0 } ? .respond() : .never
        }
        let folder = try folder(consumer.port)
        let body = try notification("one")
        let first = try serve(in: folder)
        let connection = try RawConnection(port: try await first.port())
        try await connection.send(RawConnection.post("/v1/notifications", body, ["Host: a"]))
        #expect(try await connection.answer()?.status == 200)
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
        bodies.withLock { $0 = [:] }
        let second = try serve(in: folder)
        _ = try await second.port()
        #expect(await eventually { bodies.withLock { $0["/raw"]?.count == 1 && $0["/camel"]?.count == 1 } })
        #expect(bodies.withLock { $0["/raw"] } == [body])
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
        #expect(await eventually { bodies.withLock { $0["/camel"]?.count == 2 } })
        for wrong in [[], ["--all-dead", "--notification", "one"]] {
            #expect(try await Binary.run(Binary.url, replay + wrong, in: folder).exit == 2)
        }
        second.stop()
        #expect(await second.end() == 0)
        #expect(bodies.withLock { $0["/raw"]?.count } == 1)
        let nowhere = try await Binary.run("forwarding", "list", in: TemporaryFolder())
        #expect(nowhere.exit == 2 && nowhere.errors.contains("no store is configured"))
    }
}
