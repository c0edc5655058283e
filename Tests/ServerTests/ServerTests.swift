import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("HTTP endpoints")
struct ServerTests {
    func post(_ path: String, _ body: [UInt8], host: String? = "proxy.example", _ more: [String] = []) -> [UInt8] {
        RawConnection.post(path, body, (host.map { ["Host: \($0)"] } ?? []) + more)
    }

    // MARK: - Paths

    @Test("Every legacy path is served, also with a trailing slash, a query or an absolute URL")
    func paths() async throws {
        try await Proxy.serving { proxy in
            let (production, sandbox) = (try proxy.question(), try proxy.question(.activeSubscription, .sandbox))
            for path in [
                "/verifyReceipt", "/verifyReceipt/", "/verifyReceipt?a=b&c",
                "/WebObjects/MZFinance.woa/wa/verifyReceipt",
                "/WebObjects/MZFinance.woa/wa/verifyReceipt/", "http://proxy.example/verifyReceipt",
            ] {
                let first = try await proxy.send(post(path, production))
                #expect(first.verdict == 0, "\(path)")
                #expect(first.header("Receipt-Bridge-Source") == "apple")
                #expect(first.header("Receipt-Bridge-Environment") == "Production")
                #expect(first.header("Content-Type") == "application/json")
                let second = try await proxy.send(post(path, sandbox))
                #expect(second.verdict == 0, "\(path)")
                #expect(second.header("Receipt-Bridge-Environment") == "Sandbox")
            }
            for (path, expected) in [
                ("/production/verifyReceipt", (0, 21007)), ("/sandbox/verifyReceipt", (21008, 0)),
                ("/production/verifyReceipt/", (0, 21007)), ("/sandbox/verifyReceipt?x", (21008, 0)),
            ] {
                #expect(try await proxy.send(post(path, production)).verdict == Int64(expected.0), "\(path)")
                #expect(try await proxy.send(post(path, sandbox)).verdict == Int64(expected.1), "\(path)")
            }
        }
    }

    static let hosts: [(String, AppStoreEnvironment?)] = [
        ("sandbox.itunes.apple.com", .sandbox), ("SANDBOX.example:8080", .sandbox),
        ("buy.itunes.apple.com", .production), ("production.example", .production), ("proxy.example", nil),
        ("sandboxes.example", nil), ("my-sandbox.example", nil), ("127.0.0.1:8080", nil), ("[::1]:8080", nil),
        ("", nil),
    ]

    @Test("The first label of Host selects the endpoint; an unknown or missing host selects both")
    func hosts() async throws {
        try await Proxy.serving { proxy in
            let (production, sandbox) = (try proxy.question(), try proxy.question(.activeSubscription, .sandbox))
            for (host, endpoint) in Self.hosts {
                let expected: (Int64, Int64) =
                    endpoint == .sandbox ? (21008, 0) : endpoint == .production ? (0, 21007) : (0, 0)
                #expect(
                    try await proxy.send(post("/verifyReceipt", production, host: host)).verdict == expected.0,
                    "\(host)")
                #expect(
                    try await proxy.send(post("/verifyReceipt", sandbox, host: host)).verdict == expected.1, "\(host)")
            }
            for body in [production, sandbox] {
                let old = RawConnection.post("/verifyReceipt", body, [], version: "HTTP/1.0")
                #expect(try await proxy.send(old).verdict == 0)
            }
        }
    }

    @Test("Methods other than POST get 21000", arguments: ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
    func otherMethods(method: String) async throws {
        try await Proxy.serving { proxy in
            for (path, environment) in [
                ("/verifyReceipt", "Production"), ("/sandbox/verifyReceipt", "Sandbox"),
                ("/WebObjects/MZFinance.woa/wa/verifyReceipt", "Production"),
            ] {
                let answer = try await proxy.send(
                    "\(method) \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
                #expect(answer.text == #"{"status":21000}"# && answer.status == 200)
                #expect(answer.header("Receipt-Bridge-Environment") == environment)
            }
            #expect(proxy.store.requests.total == 0)
        }
    }

    @Test("HEAD gets only the headers")
    func head() async throws {
        try await Proxy.serving { proxy in
            let connection = try proxy.connect()
            for (path, status) in [
                ("verifyReceipt", 200), ("healthz", 200), ("readyz", 200), ("openapi.json", 200), ("nothing", 404),
                ("metrics", 404), ("v1/receipts", 404),
            ] {
                try await connection.send(RawConnection.request("HEAD", "/\(path)"))
                #expect(try await connection.answer(toHead: true)?.status == status, "\(path)")
            }
            #expect(try await connection.ask(RawConnection.request("GET", "/healthz")).text == "ok\n")
        }
    }

    @Test("Unknown paths get 404 as a problem response")
    func notFound() async throws {
        try await Proxy.serving { proxy in
            for request in [
                "GET / HTTP/1.1", "GET /verifyreceipt HTTP/1.1", "POST /verifyReceipt/x HTTP/1.1",
                "GET /metrics HTTP/1.1", "GET /../verifyReceipt%2f HTTP/1.1", "OPTIONS * HTTP/1.1",
            ] {
                let answer = try await proxy.send("\(request)\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
                #expect(answer.problem == "404 notFound", "\(request)")
            }
        }
    }

    @Test("Both listeners serve /healthz and /readyz, and the public one returns nothing else")
    func health() async throws {
        try await Proxy.serving { proxy in
            for port in [proxy.port, try proxy.operationsPort] {
                for path in ["/healthz", "/readyz"] {
                    let answer = try await proxy.get(path, from: port)
                    #expect(answer.status == 200)
                    if port == proxy.port || path == "/healthz" { #expect(answer.text == "ok\n") }
                }
            }
            let elsewhere = try await RawConnection.send(
                post("/verifyReceipt", try proxy.question()), to: proxy.operationsPort)
            #expect(elsewhere.status == 404)
        }
    }

    // MARK: - Bodies

    static let contentTypes: [String?] = [
        nil, "application/json", "application/json; charset=utf-8", "application/json; charset=ISO-8859-1",
        "text/plain",
        "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "application/octet-stream",
        "multipart/form-data; boundary=x", "nonsense",
    ]

    @Test("The body is read regardless of Content-Type and forwarded unchanged as JSON with its length")
    func anyContentType() async throws {
        try await Proxy.serving { proxy in
            let body = try proxy.question()
            for type in Self.contentTypes {
                let answer = try await proxy.send(
                    post("/verifyReceipt", body, (type.map { ["Content-Type: \($0)"] } ?? [])))
                #expect(answer.verdict == 0, "\(type ?? "-")")
                let forwarded = try #require(proxy.store.requests.last.last)
                #expect(forwarded.contentType == "application/json" && forwarded.contentLength == body.count)
            }
        }
    }

    @Test("Chunked bodies are read in any pieces")
    func chunked() async throws {
        try await Proxy.serving { proxy in
            let body = try proxy.question()
            for size in [1, 7, 1000, body.count] {
                let connection = try proxy.connect()
                try await connection.send(
                    "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                var bytes: [UInt8] = []
                for start in stride(from: 0, to: body.count, by: size) {
                    let piece = body[start..<min(start + size, body.count)]
                    bytes += Array("\(String(piece.count, radix: 16));x=y\r\n".utf8) + piece + [13, 10]
                }
                try await connection.send(bytes + Array("0\r\n\r\n".utf8))
                #expect(try await connection.answer()?.verdict == 0, "\(size)")
                #expect(proxy.store.requests.last.last?.contentLength == body.count)
            }
        }
    }

    @Test("Malformed bodies get 21002", arguments: ["", "{", "receipt-data=MIIT", "{}", "null"])
    func badBodies(body: String) async throws {
        try await Proxy.serving { proxy in
            for path in ["/verifyReceipt", "/production/verifyReceipt", "/sandbox/verifyReceipt"] {
                let answer = try await proxy.send(post(path, Array(body.utf8)))
                #expect(answer.status == 200 && answer.text == #"{"status":21002}"#)
                #expect(answer.header("Receipt-Bridge-Source") == "receipt")
            }
            #expect(proxy.store.requests.total == 0)
        }
    }

    func padded(_ body: [UInt8], to size: Int) -> [UInt8] {
        body + [UInt8](repeating: 0x20, count: size - body.count)
    }

    // T20
    @Test("A body of 3,145,728 bytes is read, and a longer one is discarded and gets 413")
    func sizeLimit() async throws {
        try await Proxy.serving { proxy in
            let body = try proxy.question()
            #expect(try await proxy.send(post("/verifyReceipt", padded(body, to: 3_145_728))).verdict == 0)
            for size in [3_145_729, 8_000_000] {
                let connection = try proxy.connect()
                try await connection.send(post("/verifyReceipt", padded(body, to: size)))
                try await expectTooLarge(connection)
                let chunked = try proxy.connect()
                try await chunked.send("POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                try await chunked.send(Array("\(String(size, radix: 16))\r\n".utf8) + padded(body, to: size))
                try await chunked.send("\r\n0\r\n\r\n")
                try await expectTooLarge(chunked)
            }
            #expect(proxy.store.requests.total == 1)
        }
    }

    func expectTooLarge(_ connection: RawConnection) async throws {
        let answer = try #require(try await connection.answer())
        #expect(answer.problem == "413 bodyTooLarge" && answer.header("Connection") == "close")
        #expect(try await connection.isAtEnd())
    }

    // T20
    @Test("A body without an end is cut off")
    func endless() async throws {
        try await Proxy.serving { proxy in
            let connection = try proxy.connect()
            try await connection.send("POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            let piece = Array("100000\r\n".utf8) + [UInt8](repeating: 0x20, count: 1 << 20) + [13, 10]
            var sent = 0
            do {
                while sent < 64 {
                    try await connection.send(piece)
                    sent += 1
                }
            } catch is RawConnection.Failure {}
            #expect(sent < 64)
        }
    }

    // T20
    @Test("Encoded bodies get 415, which the client receives", arguments: ["gzip", "deflate", "br"])
    func contentEncoding(name: String) async throws {
        try await Proxy.serving { proxy in
            let connection = try proxy.connect()
            try await connection.send(
                post(
                    "/verifyReceipt", [UInt8](repeating: 0x1F, count: 3_000_000), host: "a",
                    ["Content-Encoding: \(name)"]))
            #expect(try await connection.answer()?.problem == "415 encodedBody")
            #expect(try await connection.isAtEnd())
            for none in ["Content-Encoding: identity", "Content-Encoding:", "Content-Encoding: "] {
                #expect(try await proxy.verify(nil, [none]).verdict == 0)
            }
        }
    }

    @Test("Responses have no CORS headers")
    func crossOrigin() async throws {
        try await Proxy.serving { proxy in
            let body = try proxy.question()
            for bytes in [
                post("/verifyReceipt", body, ["Origin: https://example.com"]),
                Array(
                    "OPTIONS /verifyReceipt HTTP/1.1\r\nHost: a\r\nOrigin: https://example.com\r\nAccess-Control-Request-Method: POST\r\n\r\n"
                        .utf8),
            ] {
                let answer = try await proxy.send(bytes)
                #expect(!answer.head.contains { $0.lowercased().hasPrefix("access-control-") })
            }
        }
    }

    // MARK: - Leaving and ending

    // T21
    @Test("The upstream request is canceled if the client disconnects")
    func clientLeaves() async throws {
        let apple = try TestServer(reply: .never)
        defer { apple.stop() }
        try await Proxy.serving { settings, _ in
            settings.deadline = .seconds(600)
            settings.verifyReceipt.production = apple.url("/verifyReceipt")
        } _: { proxy in
            defer { apple.stop() }
            let connection = try proxy.connect()
            try await connection.send(post("/verifyReceipt", try proxy.question()))
            #expect(await eventually { apple.counts.requests == 1 })
            connection.leave()
            #expect(await eventually { apple.counts.abandoned == 1 })
            // The request has ended, so there is no second upstream request.
            #expect(await eventually { (try? await proxy.endedRequests()) == 1 })
            #expect(apple.counts.requests == 1)
        }
        try await Proxy.serving { (proxy: Proxy) async throws -> Void in
            proxy.store.faults.add(SimulatedFault(.status(503)))
            // A client that stays connected gets all attempts: three upstream requests, then the response from the
            // receipt.
            #expect(try await proxy.verify().header("Receipt-Bridge-Source") == "receipt")
            #expect(proxy.store.requests.total == 3)
        }
    }

    @Test("A client that disconnects while sending is counted as 499, not as an error")
    func leavesWhileSending() async throws {
        try await Proxy.serving { proxy in
            let whole = post("/verifyReceipt", try proxy.question())
            for _ in 0..<3 {
                let connection = try proxy.connect()
                try await connection.send(Array(whole.prefix(whole.count / 2)))
                try await Task.sleep(for: .milliseconds(50))
                connection.leave()
            }
            let chunks = try proxy.connect()
            try await chunks.send(
                "POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\nzz\r\n")
            #expect(try await chunks.answer()?.status == 400)
            let counts: [String: Double] = [#"status="499"}"#: 3, #"status="400"}"#: 1]
            let route = #"receipt_bridge_http_requests_total{route="/verifyReceipt","#
            #expect(try await proxy.samples(route, until: counts) == counts)
        }
    }

    // T24
    @Test("Shutdown completes open requests and accepts no new ones")
    func gracefulStop() async throws {
        try await Proxy.serving { proxy in
            proxy.store.faults.add(SimulatedFault(.delay, milliseconds: 500))
            let body = try proxy.question()
            let idle = try proxy.connect()
            #expect(try await idle.ask(RawConnection.request("GET", "/healthz")).status == 200)
            try await withThrowingTaskGroup(of: Int64?.self) { group in
                for _ in 0..<40 {
                    let connection = try proxy.connect()
                    try await connection.send(post("/verifyReceipt", body))
                    group.addTask { try await connection.answer()?.verdict }
                }
                #expect(await eventually { proxy.store.requests.total == 40 })
                await proxy.beginStop()
                for try await verdict in group { #expect(verdict == 0) }
            }
            #expect(try await idle.isAtEnd())
            #expect(await eventually { (try? proxy.connect()) == nil })
        }
    }
}
