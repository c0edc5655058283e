import ReceiptBridgeHTTPTestServer
import ReceiptBridgeTestSupport
import Synchronization
import Testing
import ReceiptBridgeTransport

@Suite("Single exchange over libcurl")
struct CurlTransportTests {
    @Test("A POST is sent byte for byte with Content-Length, User-Agent and no unexpected headers")
    func post() async throws {
        let body = (0...255).map { UInt8($0) } + Array("\r\n\u{0}é".utf8)
        try await withServer(
            { .respond(body: $0.body + Array($0.head.joined(separator: "\n").utf8)) }
        ) { server, transport in
            let response = try await transport.send(
                HTTPRequest(
                    method: .post, url: server.url("/verifyReceipt?x=1"),
                    headers: ["Content-Type": "application/json", "X-Empty": ""], body: body))
            let head = String(decoding: response.body.dropFirst(body.count), as: UTF8.self)
            #expect(response.status == 200)
            #expect(Array(response.body.prefix(body.count)) == body)
            #expect(
                head.split(separator: "\n").sorted() == [
                    "Accept-Encoding: gzip", "Accept: */*", "Content-Length: \(body.count)",
                    "Content-Type: application/json",
                    "Host: 127.0.0.1:\(server.port)", "POST /verifyReceipt?x=1 HTTP/1.1",
                    "User-Agent: receipt-bridge/0-test", "X-Empty:",
                ])
        }
    }

    @Test("A large POST is sent without Expect: 100-continue, an empty one with Content-Length: 0")
    func lengths() async throws {
        try await withServer({ request in
            let lengths = "\(request.header("Content-Length") ?? "-") \(request.header("Expect") ?? "-")"
            return .respond(body: Array(lengths.utf8))
        }) { server, transport in
            for size in [0, 1, 3 << 20] {
                let response = try await transport.send(
                    HTTPRequest(method: .post, url: server.url(), body: [UInt8](repeating: 7, count: size)))
                #expect(String(decoding: response.body, as: UTF8.self) == "\(size) -")
            }
        }
    }

    @Test("GET and PUT are sent with their own method")
    func methods() async throws {
        try await withServer({ .respond(body: Array($0.head[0].utf8)) }) { server, transport in
            for method in [HTTPMethod.get, .put] {
                let body: [UInt8] = method == .get ? [] : [1]
                let response = try await transport.send(HTTPRequest(method: method, url: server.url(), body: body))
                #expect(String(decoding: response.body, as: UTF8.self) == "\(method.rawValue) / HTTP/1.1")
            }
        }
    }

    @Test("A chunked body is returned whole, and a gzip body decoded")
    func bodies() async throws {
        try await withServer({ request in
            request.path == "/gzip"
                ? .respond(headers: ["Content-Encoding: gzip"], body: Self.gzip) : .chunked([[1, 2], [3], [4, 5, 6]])
        }) { server, transport in
            let chunked = try await transport.send(HTTPRequest(method: .get, url: server.url()))
            #expect(chunked.body == [1, 2, 3, 4, 5, 6])
            let encoded = try await transport.send(HTTPRequest(method: .get, url: server.url("/gzip")))
            #expect(encoded.body == Array("{\"status\":0}".utf8))
        }
    }

    /// `{"status":0}`, compressed with gzip.
    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xAB, 0x56, 0x2A, 0x2E, 0x49, 0x2C,
        0x29, 0x2D, 0x56, 0xB2, 0x32, 0xA8, 0x05, 0x00, 0x30, 0x17, 0x02, 0x73, 0x0C, 0x00, 0x00, 0x00,
    ]

    /// 64 KiB of zeros, compressed to 96 bytes. A much larger bomb would not test more.
    private static let bomb: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xED, 0xC1, 0x01, 0x01, 0x00, 0x00,
        0x00, 0x80, 0x90, 0xFE, 0xAF, 0xEE, 0x08, 0x0A, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x6A, 0xEB, 0x8E, 0x97, 0xD7, 0x00, 0x00, 0x01, 0x00,
    ]

    @Test("The size limit applies to the decoded gzip body")
    func bombs() async throws {
        try await withServer({ _ in
            .respond(headers: ["Content-Encoding: gzip"], body: Self.bomb)
        }) { server, transport in
            func send(limit: Int) async throws -> Outcome {
                await transport.outcome(
                    of: try HTTPRequest(method: .get, url: server.url(), maximumResponseBytes: limit))
            }
            let (whole, cut) = (try await send(limit: 65_536), try await send(limit: 65_535))
            #expect(whole.body?.count == 65_536)
            #expect(cut.failure?.code == .responseTooLarge)
        }
    }

    /// What arrives, and the error; `nil` for ``gzip`` decoded.
    private static let encodedBodies: [(name: String, reply: Reply, code: TransportError.Code?)] = {
        let coding = "Content-Encoding: gzip"
        var damaged = gzip
        damaged[24] ^= 1
        func respond(_ headers: [String], _ body: [UInt8] = gzip) -> Reply { .respond(headers: headers, body: body) }
        let rows: [(name: String, reply: Reply, code: TransportError.Code?)] = [
            ("gzip", respond([coding]), nil), ("other letters", respond(["content-encoding:  GZip "]), nil),
            ("its other name", respond(["Content-Encoding: x-gzip"]), nil),
            ("an element that changes nothing", respond(["Content-Encoding: identity, gzip"]), nil),
            ("in chunks", .chunked(gzip.map { [$0] }, headers: [coding]), nil),
            ("a wrong CRC", respond([coding], damaged), .protocolError),
            ("no gzip", respond([coding], Array(#"{"status":0}"#.utf8)), .protocolError),
            ("text after the end", respond([coding], gzip + Array("<html></html>".utf8)), .protocolError),
            ("a second member that is cut", respond([coding], gzip + gzip.dropLast(4)), .truncated),
            ("chunks without the trailer", .chunked([Array(gzip.dropLast(8))], headers: [coding]), .truncated),
            ("gzip of gzip", respond([coding, coding]), .protocolError),
            ("gzip and another", respond(["Content-Encoding: gzip, br"]), .protocolError),
            ("br", respond(["Content-Encoding: br"]), .protocolError),
            ("deflate", respond(["Content-Encoding: deflate"], Array(gzip[10..<24])), .protocolError),
            ("as a transfer coding", .chunked([gzip], headers: ["Transfer-Encoding: gzip"]), .protocolError),
        ]
        return rows + (1...8).map { ("without \($0) bytes", respond([coding], Array(gzip.dropLast($0))), .truncated) }
    }()

    @Test(
        "A gzip body without its end, or with a wrong checksum, is no response, and neither is one of another coding",
        arguments: Named.list(encodedBodies) { $0.name })
    func codings(row: Named<(name: String, reply: Reply, code: TransportError.Code?)>) async throws {
        try await withServer({ _ in row.value.reply }) { server, transport in
            let outcome = await transport.outcome(of: try HTTPRequest(method: .get, url: server.url()))
            #expect(outcome.failure?.code == row.value.code)
            #expect(outcome.failure?.code.isTemporary ?? true)
            #expect(outcome.body == (row.value.code == nil ? Array(#"{"status":0}"#.utf8) : nil))
        }
    }

    @Test("The body of the response to a delivery may have any coding", arguments: ["gzip", "br"])
    func delivery(coding: String) async throws {
        let body = Array(Self.gzip.dropLast(8))
        try await withServer({ _ in .respond(headers: ["Content-Encoding: \(coding)"], body: body) }) {
            server, transport in
            var request = try HTTPRequest(method: .post, url: server.url())
            request.isDelivery = true
            #expect(await transport.outcome(of: request).body == body)
        }
    }

    @Test("A body without a byte has no coding", arguments: ["gzip", "br"])
    func emptyBody(coding: String) async throws {
        try await withServer({ _ in .respond(headers: ["Content-Encoding: \(coding)"]) }) { server, transport in
            let outcome = await transport.outcome(of: try HTTPRequest(method: .get, url: server.url()))
            #expect(outcome.body == [])
        }
    }

    /// A memory of some bytes, which counts the reserved ones.
    private final class Memory: ResponseMemory {
        private let free: Mutex<Int>
        init(_ bytes: Int) { free = Mutex(bytes) }
        var freeBytes: Int { free.withLock { $0 } }

        func reserve(_ bytes: Int, ofBody size: Int) -> Bool {
            free.withLock { free in
                guard bytes <= free else { return false }
                free -= bytes
                return true
            }
        }

        func release(_ bytes: Int) { free.withLock { $0 += bytes } }
    }

    // T20
    @Test(
        "A response reserves memory as it arrives, decoded, until it is used; without room the exchange ends at once",
        arguments: [("/", 100_000, true), ("/", 99_999, false), ("/gzip", 65_536, true), ("/gzip", 65_535, false)])
    func memory(path: String, bytes: Int, isEnough: Bool) async throws {
        let memory = Memory(bytes)
        var configuration = CurlConfiguration(version: "0-test")
        configuration.memory = memory
        try await withServer(
            { request in
                request.path == "/gzip"
                    ? .respond(headers: ["Content-Encoding: gzip"], body: Self.bomb)
                    : .respond(body: [UInt8](repeating: 0x20, count: 100_000))
            }, configuration: configuration
        ) { server, transport in
            var outcome: Outcome? = await transport.outcome(
                of: try HTTPRequest(
                    method: .get, url: server.url(path), maximumResponseBytes: path == "/" ? 100_000 : 65_536))
            #expect(outcome?.failure?.code == (isEnough ? nil : .noMemory))
            if isEnough { #expect(memory.freeBytes == 0) }
            outcome = nil
            #expect(await eventually { memory.freeBytes == bytes })
        }
    }

    // T19
    @Test("A redirect is returned as it is and not followed", arguments: [301, 302, 307, 308])
    func redirect(status: Int) async throws {
        try await withServer(
            { _ in .respond(status: status, headers: ["Location: /elsewhere"]) }
        ) { server, transport in
            let response = try await transport.send(HTTPRequest(method: .post, url: server.url(), body: [1]))
            #expect(response.status == status)
            #expect(response.headers["Location"] == "/elsewhere")
            #expect(server.counts.requests == 1)
        }
    }

    @Test("Only the headers of the final response are returned")
    func interimResponse() async throws {
        let reply = Reply.raw(
            "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nA:  b \r\nContent-Length: 1\r\n\r\nx")
        try await withServer({ _ in reply }) { server, transport in
            let response = try await transport.send(HTTPRequest(method: .get, url: server.url()))
            #expect(response.headers == ["A": "b", "Content-Length": "1"])
            #expect(response.body == Array("x".utf8))
        }
    }

    @Test(
        "Each kind of failure has its own code",
        arguments: Named.list([
            (Reply.reset, TransportError.Code.connectionReset), (.hangUp, .emptyReply),
            (.truncated(announced: 100, body: [1, 2]), .truncated),
            (.raw("HTTP/1.1 200 X\r\nContent-Encoding: gzip\r\nContent-Length: 32\r\n\r\n\u{1F}"), .truncated),
            (.raw("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"), .truncated),
            (.raw("<html>not HTTP</html>"), .protocolError), (.endless, .responseTooLarge),
            (.respond(body: [UInt8](repeating: 0, count: 1001)), .responseTooLarge),
            (
                .raw(
                    "HTTP/1.1 200 X\r\n" + String(repeating: "A: \(String(repeating: "b", count: 999))\r\n", count: 200)
                ),
                .responseTooLarge
            ),
            (.never, .timedOut), (.after(seconds: 1, .hangUp), .timedOut),
        ]) { $0.0 })
    func failures(row: Named<(Reply, TransportError.Code)>) async throws {
        let (reply, code) = row.value
        try await withServer({ _ in reply }) { server, transport in
            let timeout: Duration = code == .timedOut ? .milliseconds(150) : .seconds(20)
            let request = try HTTPRequest(
                method: .post, url: server.url("/path?secret"), body: [1], timeout: timeout, maximumResponseBytes: 1000)
            let error = await transport.failure(of: request)
            #expect(error?.code == code)
            #expect(error?.place == "127.0.0.1")
            #expect(error?.description.contains("secret") == false)
        }
    }

    @Test("A body of exactly the size limit is accepted")
    func exactLimit() async throws {
        try await withServer({ _ in .respond(body: [UInt8](repeating: 0, count: 1000)) }) { server, transport in
            let request = try HTTPRequest(method: .get, url: server.url(), maximumResponseBytes: 1000)
            #expect(try await transport.send(request).body.count == 1000)
        }
    }

    @Test("A refused connection is connectFailed, an unknown name is nameNotResolved")
    func unreachable() async throws {
        let server = try TestServer(reply: .hangUp)
        server.stop()
        let transport = try CurlTransport(CurlConfiguration(version: "0-test", proxy: .direct))
        let closed = try HTTPRequest(method: .get, url: server.url(), timeout: .seconds(20))
        // A DNS label cannot have more than 63 characters, so this name fails without a DNS query.
        let name = "\(String(repeating: "a", count: 64)).invalid"
        let unknown = try HTTPRequest(method: .get, url: "https://\(name)/", timeout: .seconds(20))
        let codes = [await transport.failure(of: closed)?.code, await transport.failure(of: unknown)?.code]
        #expect(codes == [.connectFailed, .nameNotResolved])
        await transport.shutDown()
    }

    @Test(
        "An invalid configuration is rejected before a thread starts",
        arguments: [
            CurlConfiguration(version: "1\r\nEvil: yes"), CurlConfiguration(version: "1", proxy: .url("socks5://x")),
            CurlConfiguration(version: "1", proxy: .url("http://a b")),
            CurlConfiguration(version: "1", limits: .init(total: 0, perOrigin: 1)),
        ])
    func configuration(configuration: CurlConfiguration) {
        #expect(code { () throws(TransportError) in _ = try CurlTransport(configuration) } == .invalidConfiguration)
        #expect("\(CurlConfiguration.Proxy.url("http://user:secret@proxy"))" == "url(***)")
    }
}
