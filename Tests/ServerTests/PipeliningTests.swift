import ReceiptBridgeCore
import Foundation
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("A connection")
struct PipeliningTests {
    private static let document = "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let health = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let missing = "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n"

    /// A connection with the smallest possible receive buffer in the kernel.
    private func slowReader(_ proxy: Proxy) throws -> RawConnection {
        try RawConnection(port: proxy.port, receiveBuffer: 4_096)
    }

    private func repeated(_ request: String, _ count: Int) -> String { String(repeating: request, count: count) }

    /// Number of responses so far.
    private func documents(_ proxy: Proxy) async throws -> Double {
        try await proxy.metrics()[#"receipt_bridge_http_requests_total{route="/openapi.json",status="200"}"#]
    }

    private func connections(_ proxy: Proxy) async throws -> Double {
        try await proxy.metrics()[#"receipt_bridge_http_connections{listener="public"}"#]
    }

    // MARK: - Answers that are not read

    // T20
    @Test("Responses are not produced faster than the client reads, and all arrive when it reads")
    func unread() async throws {
        try await Proxy.serving { proxy in
            let connection = try slowReader(proxy)
            try await connection.send(repeated(Self.document, 400) + Self.missing)
            #expect(await eventually { (try? await documents(proxy)) ?? 0 > 0 })
            let answered = try await settled { try await documents(proxy) }
            // 128 KiB in the kernel, which doubles that for its own purposes, and 64 KiB in this process.
            #expect(answered < 40, "\(answered)")
            for _ in 0..<400 {
                let answer = try #require(try await connection.answer())
                #expect(answer.status == 200 && answer.body.count > 40_000)
            }
            #expect(try await connection.answer()?.status == 404)
            #expect(try await documents(proxy) == 400)
        }
    }

    /// Returns a number that was the same in 20 consecutive readings.
    private func settled(_ read: () async throws -> Double) async throws -> Double {
        var (value, readings) = (try await read(), 1)
        while readings < 20 {
            try await Task.sleep(for: .milliseconds(10))
            let next = try await read()
            readings = next == value ? readings + 1 : 1
            value = next
        }
        return value
    }

    // T20
    @Test("A connection is closed if its client stops reading, but not if it reads slowly")
    func writeTimeout() async throws {
        try await withGrowingLimit { limit in
            var timeouts = ConnectionTimeouts()
            timeouts.write = limit
            try await Proxy.serving(with: .init(timeouts: timeouts)) { proxy in
                let document = try await lengthOfDocument(proxy)
                let (silent, slow) = (try slowReader(proxy), try slowReader(proxy))
                let start = ContinuousClock.now
                for connection in [silent, slow] { try await connection.send(repeated(Self.document, 100)) }
                var bytes = 0
                while bytes < 100 * document {
                    guard let next = try? await slow.next(), !next.isEmpty else { throw LimitTooShort() }
                    bytes += next.count
                    // A steady rate, for more than two timeouts.
                    try await Task.sleep(for: limit * 2.5 * (Double(bytes) / Double(100 * document)) - (.now - start))
                }
                #expect(.now - start > timeouts.write * 2)
                #expect(await eventually { (try? await connections(proxy)) == 1 })
                #expect(try await documents(proxy) < 140)
                withExtendedLifetime(silent) {}
            }
        }
    }

    /// The length of a response with the document, including its head.
    private func lengthOfDocument(_ proxy: Proxy) async throws -> Int {
        let answer = try await proxy.send(Self.document)
        return answer.head.map(\.utf8.count).reduce(0, +) + 2 * (answer.head.count + 1) + answer.body.count
    }

    // MARK: - Idle

    // T20
    @Test("An idle connection is closed, also after pipelined requests, but not while a request is in progress")
    func idle() async throws {
        try await withGrowingLimit { limit in
            var timeouts = ConnectionTimeouts()
            timeouts.idle = limit
            // Apple answers when the other connections are closed.
            let gate = BlockingResponse()
            let apple = try TestServer(reply: .behind(gate, .json(#"{"status":0,"environment":"Production"}"#)))
            try await Proxy.serving(with: .init(timeouts: timeouts)) { settings, _ in
                settings.deadline = .seconds(60)
                settings.verifyReceipt.production = apple.url("/verifyReceipt")
            } _: { proxy in
                defer { gate.open() }
                let question = RawConnection.post("/verifyReceipt", try proxy.question())
                let waiting = try proxy.connect()
                try? await waiting.send(question)
                let (silent, used) = (try proxy.connect(), try proxy.connect())
                try? await used.send(repeated(Self.health, 3))
                for _ in 0..<3 {
                    guard let answer = try? await used.answer() else { throw LimitTooShort() }
                    #expect(answer.status == 200)
                }
                #expect(try await used.isAtEnd())
                #expect(try await silent.isAtEnd())
                gate.open()
                guard let answer = try? await waiting.answer() else { throw LimitTooShort() }
                #expect(answer.verdict == 0)
                #expect(try await waiting.isAtEnd())
            }
        }
    }

    // T20
    @Test("A connection is closed and its upstream request canceled if a response exceeds the timeout")
    func endless() async throws {
        try await withGrowingLimit { limit in
            var timeouts = ConnectionTimeouts()
            timeouts.answer = limit
            let apple = try TestServer(reply: .never)
            try await Proxy.serving(with: .init(timeouts: timeouts)) { settings, _ in
                settings.deadline = .seconds(600)
                settings.verifyReceipt.production = apple.url("/verifyReceipt")
            } _: { proxy in
                defer { apple.stop() }
                let connection = try proxy.connect()
                try await connection.send(RawConnection.post("/verifyReceipt", try proxy.question()))
                #expect(try await connection.remainder().isEmpty)
                // A busy machine may not have called Apple yet.
                guard apple.counts.requests > 0 else { throw LimitTooShort() }
                #expect(await eventually { apple.counts.abandoned == 1 })
                #expect(apple.counts.requests == 1)
            }
        }
    }

    // MARK: - Many requests at once

    // T20
    @Test("Thousands of pipelined requests, with and without bodies, are answered in order, also after a slow one")
    func order() async throws {
        try await Proxy.serving { (proxy: Proxy) async throws -> Void in
            proxy.store.faults.add(SimulatedFault(.delay, times: 1, milliseconds: 150))
            let connection = try proxy.connect()
            let slow = RawConnection.post("/verifyReceipt", try proxy.question())
            let body = #"{"receipt-data":""# + String(repeating: "A", count: 9_000)
            let length = "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            let chunked =
                "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
            let round = repeated(Self.health, 90) + Self.missing + length + Self.health + chunked + Self.missing
            // Sends concurrently, because neither side buffers all of it.
            async let sent: Void = connection.send(slow + Array(repeated(round, 20).utf8))
            #expect(try await connection.answer()?.verdict == 0)
            let expected = Array(repeating: "ok\n", count: 90) + ["404", "21002", "ok\n", "21002", "404"]
            for number in 0..<20 {
                var answers: [String] = []
                for _ in expected {
                    let answer = try #require(try await connection.answer())
                    answers.append(answer.json["status"]?.integer.map(String.init) ?? answer.text)
                }
                #expect(answers == expected, "round \(number)")
            }
            try await sent
        }
    }

    // T20
    @Test(
        "Pipelined requests get their responses, then the end, also after a half-close, `Connection: close` or garbage")
    func ends() async throws {
        try await Proxy.serving { proxy in
            for (count, rest, status) in [
                (500, Self.missing, 404), (3, "nonsense\r\n\r\n" + Self.health, 400),
                (3, "GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404),
            ] {
                let connection = try proxy.connect()
                try await connection.send(repeated(Self.health, count) + rest)
                if count == 500 { connection.closeSending() }
                for _ in 0..<count { #expect(try await connection.answer()?.text == "ok\n") }
                #expect(try await connection.answer()?.status == status)
                #expect(try await connection.isAtEnd())
            }
        }
    }

    // MARK: - What HTTP does not allow

    // T20
    @Test("HTTP/1.1 without Host and HTTP/1.0 with a transfer coding get 400, and the connection is closed")
    func notAllowed() async throws {
        let refused: [(request: String, code: String)] = [
            ("GET /healthz HTTP/1.1\r\n\r\n", "missingHost"),
            ("POST /verifyReceipt HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", "missingHost"),
            ("GET http://a/healthz HTTP/1.1\r\n\r\n", "missingHost"),
            (
                "POST /verifyReceipt HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
                "transferCoding"
            ),
            (
                "POST /verifyReceipt HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
                "transferCoding"
            ),
        ]
        try await Proxy.serving { proxy in
            for (request, code) in refused {
                let connection = try proxy.connect()
                try await connection.send(Self.health + request + Self.health)
                #expect(try await connection.answer()?.text == "ok\n")
                let answer = try #require(try await connection.answer())
                #expect(answer.problem == "400 \(code)")
                #expect(try await connection.isAtEnd(), "\(request)")
            }
            for allowed in ["GET /healthz HTTP/1.0\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n"] {
                #expect(try await proxy.send(allowed).text == "ok\n")
            }
        }
    }
}
