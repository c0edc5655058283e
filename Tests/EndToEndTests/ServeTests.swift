import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Proxy in front of the simulator")
struct ServeTests {
    @Test(
        "serve accepts every receipt that simulate writes, and rejects every forgery")
    func everyReceipt() async throws {
        let folder = try TemporaryFolder()
        try folder.writeSharedKeys("state")
        let simulator = try Running(
            ["simulate", "--listen", "127.0.0.1:0", "--state", "state", "--customers", "36", "--seed", "7"], in: folder)
        _ = try await simulator.port()
        let receipts = try folder.lines("state/receipts.jsonl")
        let hostile = try folder.lines("state/hostile.jsonl")
        #expect(hostile.count >= 28)
        #expect(Set(receipts.compactMap { $0["id"]?.text }).count == receipts.count && receipts.count > 40)
        #expect(receipts[0]["environment"]?.text == "Production" && receipts[0]["style"]?.text == "appReceipt")
        for (key, values) in [
            ("environment", Set(["Production", "Sandbox"])), ("style", ["appReceipt", "transactionReceipt"]),
        ] { #expect(Set(receipts.prefix(20).compactMap { $0[key]?.text }) == values) }
        #expect(try await simulator.get("/healthz").status == 200)

        let yaml = try folder.text("state/receipt-bridge.yaml")
        try folder.write(
            "state/local.yaml", yaml.replacing("answer: [apple, receipt]", with: "answer: [receipt, apple]").utf8)
        for (file, source) in [("receipt-bridge.yaml", "apple"), ("local.yaml", "receipt")] {
            let proxy = try await Running.serve("--config", "state/\(file)", in: folder)
            let connection = try RawConnection(port: try await proxy.port())
            func ask(_ line: JSONValue) async throws -> RawConnection.Answer {
                let body = Question.body(try #require(line["receipt"]?.text), password: SimulatedApp.first.sharedSecret)
                return try await connection.ask(RawConnection.post("/verifyReceipt", body))
            }
            for line in receipts {
                let answer = try await ask(line)
                #expect(answer.verdict == 0 || (answer.verdict == 21006 && line["style"]?.text == "transactionReceipt"))
                #expect(answer.header("Receipt-Bridge-Source") == source)
                #expect(answer.header("Receipt-Bridge-Environment") == line["environment"]?.text)
            }
            for line in hostile {
                let mangling = line["mangling"]?.text ?? ""
                // Apple refuses a signed transaction of a configured app; `signedTransactions: answer` answers it.
                let status = mangling == "signedTransaction" ? 0 : line["status"]?.integer
                #expect(try await ask(line).verdict == status, "\(source) \(mangling)")
            }
            await proxy.finish()
            #expect(!proxy.errors.contains(SimulatedApp.first.sharedSecret))
            expectJSONLines(proxy.errors)
            #expect(proxy.errors.contains("\"message\":\"listening on http://127.0.0.1:"))
        }
        await simulator.finish()
    }

    private func expectJSONLines(_ errors: String) {
        for line in errors.split(separator: "\n") {
            let json = try? JSONValue(reading: Array(line.utf8))
            #expect(json?["time"] != nil && json?["level"] != nil && json?["message"] != nil, "\(line)")
        }
    }

    // T24
    @Test("SIGTERM under load loses no response, and the log contains neither receipts nor secrets")
    func terminated() async throws {
        let stage = try await CommandFixture(customers: 4, store: nil)
        let store = stage.appStore
        let proxy = try await stage.serve("receipt-bridge.yaml", "--log-level", "debug")
        let port = try await proxy.port()
        let receipt = try #require(store.receipts.first).base64
        store.faults.add(SimulatedFault(.delay, milliseconds: 700))
        try await withThrowingTaskGroup(of: Int64?.self) { group in
            for _ in 0..<30 {
                let connection = try RawConnection(port: port)
                try await connection.send(
                    RawConnection.post("/verifyReceipt", Question.body(receipt, password: "canary-7f3a")))
                group.addTask { try await connection.answer()?.verdict }
            }
            #expect(await eventually { store.requests.total == 30 })
            proxy.stop()
            for try await status in group { #expect(status == 21004) }
        }
        #expect(await proxy.end() == 0)
        expectJSONLines(proxy.errors)
        for secret in ["canary-7f3a", SimulatedApp.first.sharedSecret, String(receipt.prefix(64))] {
            #expect(!proxy.errors.contains(secret))
        }
    }

    // T24
    @Test("SIGTERM disconnects clients that neither finish a request nor read a response", .timeLimit(.minutes(1)))
    func stubborn() async throws {
        let folder = try TemporaryFolder()
        try folder.write("bridge.yaml", "deadlineSeconds: 1\nstore: none\n".utf8)
        let proxy = try await Running.serve("--config", "bridge.yaml", in: folder)
        let port = try await proxy.port()
        let half = try RawConnection(port: port)
        try await half.send("POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{\"r")
        let deaf = try RawConnection(port: port)
        try await deaf.send(String(repeating: "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n", count: 200))
        try await Task.sleep(for: .milliseconds(200))
        proxy.stop()
        // Well within the idle timeout of a minute, which would also end them.
        #expect(await proxy.end(within: .seconds(30)) == 0, "\(proxy.errors)")
        expectJSONLines(proxy.errors)
        half.leave()
        deaf.leave()
    }

    @Test("A log that is not read does not delay responses, and later reports how many lines were dropped")
    func unreadLog() async throws {
        let folder = try TemporaryFolder()
        try folder.write("bridge.yaml", "store: none\n".utf8)
        try #require(mkfifo(folder.path("log"), 0o600) == 0)
        let log = open(folder.path("log"), O_RDONLY | O_NONBLOCK)
        defer { close(log) }
        let start = #"exec "$0" serve --config bridge.yaml --listen 127.0.0.1:0 --log-level info 2<>log"#
        let proxy = try Running(["-c", start, Binary.url.path], of: URL(filePath: "/bin/sh"), in: folder)
        var logged = ""
        let isUp = await eventually(within: .seconds(30)) {
            logged += available(in: log)
            return logged.contains("listening on http://")
        }
        #expect(isUp)
        let port = try #require(logged.firstMatch(of: /http:\/\/[^\s"]+:(\d+)"/).flatMap { Int($0.1) })
        let connection = try RawConnection(port: port)
        func ask() async throws {
            #expect(try await connection.ask(RawConnection.post("/verifyReceipt", Array("{}".utf8))).status == 200)
        }
        for _ in 0..<1_000 { try await ask() }
        // A line may be written while the pipe is read.
        #expect(available(in: log).utf8.count <= (1 << 16) + 4_096)
        try await ask()
        let isReported = await eventually {
            logged = available(in: log)
            return logged.contains("dropped")
        }
        #expect(isReported)
        expectJSONLines(logged)
        await proxy.finish()
    }

    @Test("An address that is in use or not available is reported as it was given")
    func takenAddress() async throws {
        let folder = try TemporaryFolder()
        let first = try await Running.serve(in: folder)
        let taken = "127.0.0.1:\(try await first.port())"
        for command in ["serve", "simulate"] {
            for (address, reason) in [(taken, "is already in use"), ("192.0.2.1:80", "cannot be used: Cannot assign")] {
                try await Binary.run(
                    command, "--listen", address, in: folder, exit: 2, says: "listen: \(address) \(reason)")
            }
        }
        for (address, reason) in [
            (taken, "is already in use"), ("192.0.2.1:80", "cannot be used: Cannot assign"),
            ("127.0.0.1:1", "is already the address of listen"),
        ] {
            try folder.write("token.txt", "Zm9ydHktdHdvIGJ5dGVz".utf8)
            try folder.write(
                "b.yaml",
                "listen: 127.0.0.1:1\noperations: {listen: \(address)}\ntokens: [{file: token.txt}]\nstore: none\n".utf8
            )
            let listen = address == "127.0.0.1:1" ? [] : ["--listen", "127.0.0.1:0"]
            try await Binary.run(
                Binary.url, ["serve", "--config", "b.yaml"] + listen, in: folder, exit: 2,
                says: "operations.listen: \(address) \(reason)")
        }
        await first.finish()
    }

    @Test("simulate writes its state directory before it listens")
    func simulatedFolder() async throws {
        let folder = try TemporaryFolder()
        let probe = try await Running.serve(in: folder)
        let port = try await probe.port()
        probe.stop()
        _ = await probe.end()
        try folder.writeSharedKeys("state")
        let simulator = try Running(
            ["simulate", "--listen", "127.0.0.1:\(port)", "--state", "state", "--customers", "200"], in: folder)
        var connection: RawConnection?
        for _ in 0..<10_000 where connection == nil && simulator.isRunning {
            connection = try? RawConnection(port: port)
            if connection == nil { try await Task.sleep(for: .milliseconds(2)) }
        }
        #expect(connection != nil)
        for name in ["world.json", "receipts.jsonl", "hostile.jsonl", "receipt-bridge.yaml"] {
            #expect(FileManager.default.fileExists(atPath: folder.path("state/\(name)")), "\(name)")
        }
        simulator.stop()
        _ = await simulator.end()
    }

    @Test("serve needs no configuration, and reads one from the environment, with a warning of unusual values")
    func unconfigured() async throws {
        let folder = try TemporaryFolder()
        let bare = try await Running.serve(in: folder)
        // Two servers have one usual operations address, so at least one of them is without that listener: this one, or
        // the first if a server of another test had the address then.
        let second = try await Running.serve(in: folder)
        let answer = try await second.ask(RawConnection.post("/verifyReceipt", Array("{}".utf8)))
        #expect(answer.text == #"{"status":21002}"#)
        #expect([bare, second].contains { $0.errors.contains("operations address already in use") })
        for proxy in [bare, second] { await proxy.finish() }
        let configured = try Running(
            ["serve"], in: folder,
            environment: [
                "RECEIPT_BRIDGE_LISTEN": "127.0.0.1:0", "RECEIPT_BRIDGE_OPERATIONS_LISTEN": "127.0.0.1:0",
                "RECEIPT_BRIDGE_APP_BUNDLEID": "com.example.app", "RECEIPT_BRIDGE_APP_SHAREDSECRET": "canary",
            ])
        _ = try await configured.port()
        let form = "com.example.app: sharedSecret has an unusual form: Apple's have 32 hexadecimal digits"
        #expect(configured.errors.contains(form) && !configured.errors.contains("canary"))
        await configured.finish()
    }

    @Test("serve exits with 2 if test roots are combined with Apple's hosts or an open listener")
    func refused() async throws {
        let folder = try TemporaryFolder.simulated(customers: 1)
        try await Binary.run(
            "serve", "--roots", "roots", "--listen", "127.0.0.1:0", in: folder, exit: 2, says: "trust.roots")
        try await Binary.run(
            "serve", "--config", "receipt-bridge.yaml", "--listen", "0.0.0.0:0", in: folder, exit: 2,
            says: "listen: trust.roots")
    }
}
