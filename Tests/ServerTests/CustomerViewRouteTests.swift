import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Endpoints of new clients (/v1)")
struct CustomerViewRouteTests {
    private static let token: String = "Zm9ydHktdHdvIGJ5dGVz"

    private static func withToken(_ settings: inout ProxyConfiguration, _: inout AppConfiguration) {
        settings.tokens = [Redacted("another"), Redacted(token)]
    }

    private static let authorized: [String] = ["Authorization: Bearer \(token)"]

    private func get(_ path: String, _ headers: [String]) -> [UInt8] {
        Array((["GET \(path) HTTP/1.1", "Host: localhost"] + headers + ["", ""]).joined(separator: "\r\n").utf8)
    }

    private func post(_ body: String, _ headers: [String]) -> [UInt8] {
        RawConnection.post("/v1/receipts", Array(body.utf8), ["Host: localhost"] + headers)
    }

    private func send(_ bytes: [UInt8], to port: Int) async throws -> RawConnection.Answer {
        let connection = try RawConnection(port: port)
        try await connection.send(bytes)
        return try #require(try await connection.answer())
    }

    private func code(_ answer: RawConnection.Answer) throws -> String {
        #expect(answer.header("Content-Type") == "application/problem+json")
        let problem = try JSONValue(reading: answer.body)
        #expect(problem["status"]?.integer == Int64(answer.status) && problem["title"]?.text?.isEmpty == false)
        return "\(answer.status) \(problem["code"]?.text ?? "-")"
    }

    private func code(_ request: [UInt8], to port: Int) async throws -> String {
        try code(try await send(request, to: port))
    }

    private func path(_ proxy: Proxy) throws -> String {
        let customer = proxy.store.world.customers.first { $0.kind == .activeSubscription }
        return "/v1/transactions/\(try #require(customer?.transactions.first).transactionId)"
    }

    // MARK: - Views

    @Test("An id, a receipt and a signed transaction each return JSON with Cache-Control: no-store")
    func views() async throws {
        try await Proxy.serving(Self.withToken) { proxy in
            let customer = try #require(proxy.store.world.customers.first { $0.kind == .activeSubscription })
            let receipt = try #require(proxy.store.receipts(of: customer).first)
            let transaction = try #require(customer.transactions.first)
            let signed = try proxy.store.pki.jwsSigner.jws(
                payload: transaction.row(.production, signedDate: SharedSimulator.noon))
            for request in [
                get(try path(proxy), Self.authorized),
                get("\(try path(proxy))/?bundleId=com.example.app", Self.authorized),
                post(#"{"receiptData":"\#(receipt.base64)"}"#, Self.authorized),
                post(#"{"signedTransaction":"\#(signed)"}"#, ["authorization: bearer \(Self.token)"]),
                post(#"{"signedTransaction":" \#(signed)\n"}"#, ["authorization: bearer \(Self.token)"]),
            ] {
                let answer = try await send(request, to: proxy.port)
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.header("Content-Type") == "application/json")
                #expect(answer.header("Cache-Control") == "no-store")
                let view = try JSONValue(reading: answer.body)
                #expect(view["transactions"]?.elements?.count == customer.transactions.count)
            }
        }
    }

    // MARK: - Tokens

    static let strangeHeaders: [[String]] = [
        [], ["Authorization: Bearer"], ["Authorization: Basic \(token)"], ["Authorization: \(token)"],
        ["Authorization: Bearer "], ["Authorization: Bearer \(token)", "Authorization: Bearer wrong"],
        ["X-Api-Key: \(token)"],
        ["X-Forwarded-For: 127.0.0.1"],
    ]

    @Test(
        "The public listener returns 404 without a valid token, as if the route did not exist",
        arguments: strangeHeaders)
    func strangers(headers: [String]) async throws {
        try await Proxy.serving(Self.withToken) { proxy in
            let nothing = try await send(get("/v1/nothing", headers), to: proxy.port)
            for request in [get(try path(proxy), headers), post("{}", headers), get("/v1/transactions/0", headers)] {
                let answer = try await send(request, to: proxy.port)
                #expect(answer.status == 404 && answer.body == nothing.body)
            }
            #expect(proxy.store.requests.total == 0)
        }
    }

    static let wrongTokens = ["wrong", "\(token)x", "x", "another\(token)", "\(token.dropLast())"]

    @Test("A wrong token gets 401 on both listeners, and no upstream request is made", arguments: wrongTokens)
    func wrongToken(token: String) async throws {
        try await Proxy.serving(Self.withToken) { proxy in
            let headers = ["Authorization: Bearer \(token)"]
            for port in [proxy.port, try proxy.operationsPort] {
                for request in [get(try path(proxy), headers), post("{}", headers)] {
                    let answer = try await send(request, to: port)
                    #expect(try code(answer) == "401 wrongToken")
                    #expect(answer.header("WWW-Authenticate") == "Bearer")
                }
                // The same response with and without a token: a route that does not exist, and one that is not below
                // /v1.
                #expect(try await code(get("/v1/nothing", headers), to: port) == "404 notFound")
            }
            #expect(try await code(get("/metrics", headers), to: proxy.port) == "404 notFound")
            #expect(proxy.store.requests.total == 0)
        }
    }

    @Test("Without configured tokens the routes exist only on the operations listener")
    func withoutTokens() async throws {
        try await Proxy.serving { proxy in
            let path = try path(proxy)
            #expect(try await code(get(path, Self.authorized), to: proxy.port) == "404 notFound")
            #expect(try await send(get(path, []), to: proxy.operationsPort).status == 200)
            #expect(try await code(post("{}", []), to: proxy.operationsPort) == "400 malformedRequest")
        }
    }

    static let forwardingHeaders = [
        "Forwarded: for=192.0.2.1", "X-Forwarded-For: 127.0.0.1", "x-forwarded-proto: https", "X-Forwarded-Host: a",
        "Via: 1.1 proxy", "X-Real-IP: 127.0.0.1", "CF-Connecting-IP: 127.0.0.1", "True-Client-IP: 127.0.0.1",
        "X-Client-IP: 127.0.0.1", "x-cluster-client-ip: 127.0.0.1", "Fastly-Client-IP: 127.0.0.1",
        "X-Original-Forwarded-For: 127.0.0.1",
    ]

    @Test("The operations listener returns 404 for a forwarded request without a token", arguments: forwardingHeaders)
    func forwarded(header: String) async throws {
        for isConfigured in [false, true] {
            try await Proxy.serving({ if isConfigured { Self.withToken(&$0, &$1) } }) { proxy in
                let path = try path(proxy)
                #expect(try await code(get(path, [header]), to: proxy.operationsPort) == "404 notFound")
                #expect(try await send(get(path, []), to: proxy.operationsPort).status == 200)
            }
        }
        try await Proxy.serving(Self.withToken) { proxy in
            let request = get(try path(proxy), Self.authorized + [header])
            #expect(try await send(request, to: proxy.operationsPort).status == 200)
            #expect(try await send(request, to: proxy.port).status == 200)
        }
    }

    static let foreignHosts = [
        "attacker.example", "attacker.example:8081", "localhost.attacker.example", "127.0.0.1.attacker.example", "a",
        "localhost.", "127.1",
    ]
    static let malformedHosts = ["[localhost]:8081", "localhost:x", "[::1", "[::1]8081", "::1", ""]
    static let localHosts = [
        "localhost", "LOCALHOST:9000", "127.0.0.1", "127.0.0.1:8081", "192.0.2.1:8081", "[::1]", "[::1]:8081",
    ]
    static let foreignPages: [[String]] = [
        ["Origin: https://attacker.example"], ["Origin: null"], ["Origin: https://localhost"],
        ["Origin: http://localhost:81"], ["Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"],
        ["Origin: http://localhost", "Sec-Fetch-Site: cross-site"],
    ]
    static let ownPages: [[String]] = [
        ["Origin: http://localhost"], ["Sec-Fetch-Site: none"], ["Sec-Fetch-Site: same-origin"],
        ["Origin: http://localhost", "Sec-Fetch-Site: same-origin"],
    ]

    private func status(_ path: String, _ headers: [String], to port: Int) async throws -> Int {
        let head = ["GET \(path) HTTP/1.1"] + headers + ["", ""]
        return try await send(Array(head.joined(separator: "\r\n").utf8), to: port).status
    }

    @Test("The operations listener returns 404 for a foreign Host (DNS rebinding) without a token")
    func rebinding() async throws {
        for isConfigured in [false, true] {
            try await Proxy.serving({ if isConfigured { Self.withToken(&$0, &$1) } }) { proxy in
                let port = try proxy.operationsPort
                for path in [try path(proxy), "/", "/metrics"] {
                    for (hosts, expected) in [(Self.foreignHosts, 404), (Self.localHosts, 200)] {
                        for host in hosts {
                            let status = try await status(path, ["Host: \(host)"], to: port)
                            #expect(status == expected, "\(path) at \(host)")
                        }
                    }
                    for host in Self.malformedHosts {
                        let status = try await status(path, ["Host: \(host)"], to: port)
                        #expect(status == 400 || status == 404, "\(path) at \(host)")
                    }
                }
                for host in Self.foreignHosts {
                    for path in ["/healthz", "/readyz"] {
                        let status = try await status(path, ["Host: \(host)"], to: port)
                        #expect(status == 200, "\(path) at \(host)")
                    }
                }
            }
        }
        try await Proxy.serving(Self.withToken) { proxy in
            let headers = ["Host: bridge.example:8081"] + Self.authorized
            let status = try await status(path(proxy), headers, to: proxy.operationsPort)
            #expect(status == 200)
        }
    }

    @Test("The operations listener accepts the host name in its configuration")
    func configuredName() async throws {
        // The system resolves this host to 127.0.0.1, but the text is not an IP address.
        try await Proxy.serving({ settings, _ in settings.operationsListen.host = "127.1" }) { proxy in
            let port = try proxy.operationsPort
            for (host, expected) in [("127.1:8081", 200), ("127.1", 200), ("127.2", 404), ("localhost", 200)] {
                let status = try await status("/metrics", ["Host: \(host)"], to: port)
                #expect(status == expected, "\(host)")
            }
        }
    }

    @Test("The operations listener returns 404 for a page of another origin without a token")
    func crossOrigin() async throws {
        try await Proxy.serving { proxy in
            for path in [try path(proxy), "/", "/metrics"] {
                for (pages, expected) in [(Self.foreignPages, 404), (Self.ownPages, 200)] {
                    for headers in pages {
                        let status = try await status(path, ["Host: localhost"] + headers, to: proxy.operationsPort)
                        #expect(status == expected, "\(path): \(headers)")
                    }
                }
            }
        }
        try await Proxy.serving(Self.withToken) { proxy in
            for headers in Self.foreignPages {
                let status = try await status(
                    path(proxy), ["Host: localhost"] + Self.authorized + headers, to: proxy.operationsPort)
                #expect(status == 200, "\(headers)")
            }
        }
    }

    // MARK: - Problems

    static let badPaths: [(String, String)] = [
        ("/v1/transactions/0", "400 malformedTransactionId"), ("/v1/transactions/abc", "400 malformedTransactionId"),
        ("/v1/transactions/%2e%2e%2f", "400 malformedTransactionId"), ("/v1/transactions/", "404 notFound"),
        ("/v1/transactions/../1", "404 notFound"), ("/v1/transactions/1/2", "404 notFound"),
        ("/v1/transactions/1?bundleId=com.example.other", "404 unknownApp"),
        ("/v1/transactions/1", "404 transactionNotFound"), ("/v1/receipts", "404 notFound"),
    ]

    @Test("Errors are problem responses with a code")
    func problems() async throws {
        try await Proxy.serving(Self.withToken) { proxy in
            for (path, expected) in Self.badPaths {
                let code = try await code(get(path, Self.authorized), to: proxy.port)
                #expect(code == expected, "\(path)")
            }
            for (body, expected) in [
                ("", "400 malformedRequest"), (#"{"receiptData":"AAAA"}"#, "400 notAReceipt"),
                (#"{"signedTransaction":"a.b.c"}"#, "400 notASignedTransaction"),
            ] {
                let code = try await code(post(body, Self.authorized), to: proxy.port)
                #expect(code == expected, "\(body)")
            }
            #expect(!proxy.log.all.contains { $0.contains(Self.token) })
        }
    }

    @Test("Temporary errors have a Retry-After header")
    func retryAfter() async throws {
        try await Proxy.serving(Self.withToken) { proxy in
            proxy.store.faults.add(SimulatedFault(.status(503), endpoint: "serverAPI"))
            let answer = try await send(get(try path(proxy), Self.authorized), to: proxy.port)
            #expect(try code(answer) == "503 upstreamUnavailable")
            #expect(answer.header("Retry-After") == "10")
        }
    }

    @Test("Bodies over the limit of verifyReceipt and compressed bodies are rejected")
    func bodies() async throws {
        try await Proxy.serving(Self.withToken) { proxy in
            let long = String(repeating: " ", count: 3_145_729)
            for (request, expected) in [
                (post(long, Self.authorized), "413 bodyTooLarge"),
                (post("{}", Self.authorized + ["Content-Encoding: gzip"]), "415 encodedBody"),
            ] {
                let answer = try await send(request, to: proxy.port)
                #expect(try code(answer) == expected)
                #expect(answer.header("Connection") == "close")
            }
            let most = "{\(String(repeating: " ", count: 3_145_726))}"
            #expect(try await code(post(most, Self.authorized), to: proxy.port) == "400 malformedRequest")
        }
    }
}
