import Foundation
import Server
import Simulator
import TestSupport
import Testing

@Suite("A connection")
struct PipeliningTests {
    private static let document = "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let health = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let missing = "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n"

    /// A connection with the smallest possible receive buffer in the kernel.
    private func slowReader(_ proxy: Proxy) throws -> RawConnection {
        try RawConnection(port: proxy.port, timeout: 50, receiveBuffer: 4_096)
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
            #expect(try await eventually { try await documents(proxy) > 0 })
            try await Task.sleep(for: .seconds(1))
            let answered = try await documents(proxy)
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

    private func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
        await TestSupport.eventually(within: .seconds(50)) { (try? await condition()) ?? false }
    }

    // T20
    @Test("A connection is closed if its client stops reading, but not if it reads slowly")
    func writeTimeout() async throws {
        var timeouts = ConnectionTimeouts()
        timeouts.write = .seconds(3)
        try await Proxy.serving(timeouts: timeouts) { proxy in
            let (silent, slow) = (try slowReader(proxy), try slowReader(proxy))
            let start = ContinuousClock.now
            for connection in [silent, slow] { try await connection.send(repeated(Self.document, 100)) }
            var bytes = 0
            while bytes < 4_000_000 {
                let next = try await slow.next()
                try #require(!next.isEmpty, "\(bytes)")
                bytes += next.count
                // At most ten reads per second, for at least two timeouts.
                try await Task.sleep(for: .milliseconds(bytes / 500) - (.now - start))
            }
            #expect(.now - start > timeouts.write * 2)
            #expect(try await eventually { try await connections(proxy) == 1 })
            #expect(try await documents(proxy) < 140)
        }
    }

    // MARK: - Idle

    // T20
    @Test("An idle connection is closed, also after pipelined requests, but not while a request is in progress")
    func idle() async throws {
        var timeouts = ConnectionTimeouts()
        timeouts.idle = .seconds(2)
        try await Proxy.serving(timeouts: timeouts) { proxy in
            proxy.store.faults.add(SimulatedFault(.delay, times: 1, milliseconds: 4_500))
            let question = RawConnection.post("/verifyReceipt", try proxy.question())
            let waiting = try proxy.connect()
            try await waiting.send(question)
            let (silent, used) = (try proxy.connect(), try proxy.connect())
            try await used.send(repeated(Self.health, 3))
            for _ in 0..<3 { #expect(try await used.answer()?.status == 200) }
            #expect(try await used.isAtEnd())
            #expect(try await silent.isAtEnd())
            let answer = try #require(try await waiting.answer())
            #expect(try JSONValue(reading: answer.body)["status"]?.integer == 0)
            #expect(try await waiting.isAtEnd())
        }
    }

    // T20
    @Test("A connection is closed and its upstream request canceled if a response exceeds the timeout")
    func endless() async throws {
        var timeouts = ConnectionTimeouts()
        timeouts.answer = .seconds(3)
        try await Proxy.serving(timeouts: timeouts) { proxy in
            proxy.store.faults.add(SimulatedFault(.delay, milliseconds: 15_000))
            let connection = try proxy.connect()
            try await connection.send(RawConnection.post("/verifyReceipt", try proxy.question()))
            #expect(try await connection.remainder().isEmpty)
            #expect(proxy.store.requests.total == 1)
        }
    }

    // MARK: - Many requests at once

    // T20
    @Test("Thousands of pipelined requests, with and without bodies, are answered in order")
    func order() async throws {
        try await Proxy.serving { (proxy: Proxy) async throws -> Void in
            let connection = try RawConnection(port: proxy.port, timeout: 50)
            let body = #"{"receipt-data":""# + String(repeating: "A", count: 9_000)
            let length = "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            let chunked =
                "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
            let round = repeated(Self.health, 90) + Self.missing + length + Self.health + chunked + Self.missing
            // Sends concurrently, because neither side buffers all of it.
            async let sent: Void = connection.send(repeated(round, 20))
            let expected = Array(repeating: "ok\n", count: 90) + ["404", "21002", "ok\n", "21002", "404"]
            for number in 0..<20 {
                var answers: [String] = []
                for _ in expected {
                    let answer = try #require(try await connection.answer())
                    let verdict = try? JSONValue(reading: answer.body)["status"]?.integer
                    answers.append(verdict.map { "\($0)" } ?? answer.text)
                }
                #expect(answers == expected, "round \(number)")
            }
            try await sent
        }
    }

    // T20
    @Test("A client that half-closes after pipelined requests gets their responses, then the end")
    func halfClosed() async throws {
        try await Proxy.serving { proxy in
            let connection = try proxy.connect()
            try await connection.send(repeated(Self.health, 500) + Self.missing)
            connection.closeSending()
            for _ in 0..<500 { #expect(try await connection.answer()?.text == "ok\n") }
            #expect(try await connection.answer()?.status == 404)
            #expect(try await connection.isAtEnd())
        }
    }

    // T20
    @Test("Garbage after pipelined requests gets 400 after their responses, then the end")
    func nonsense() async throws {
        try await Proxy.serving { proxy in
            let connection = try proxy.connect()
            try await connection.send(repeated(Self.health, 3) + "nonsense\r\n\r\n" + Self.health)
            for _ in 0..<3 { #expect(try await connection.answer()?.text == "ok\n") }
            #expect(try await connection.answer()?.status == 400)
            #expect(try await connection.isAtEnd())
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
                #expect(answer.status == 400 && answer.text.contains(#""code":"\#(code)""#), "\(answer.text)")
                #expect(try await connection.isAtEnd(), "\(request)")
            }
            for allowed in ["GET /healthz HTTP/1.0\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n"] {
                #expect(try await proxy.send(allowed)?.text == "ok\n")
            }
        }
    }
}
