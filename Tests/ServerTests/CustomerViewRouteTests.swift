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
        RawConnection.request("GET", path, ["Host: localhost"] + headers)
    }

    private func post(_ body: String, _ headers: [String]) -> [UInt8] {
        RawConnection.post("/v1/receipts", Array(body.utf8), ["Host: localhost"] + headers)
    }

    /// Requests to routes that need a token.
    private func requests(_ proxy: Proxy, _ headers: [String]) throws -> [[UInt8]] {
        let routes = [
            ("GET", try path(proxy)), ("GET", "/v1/transactions/0"), ("GET", "/v1/orders/M1"), ("POST", "/v1/receipts"),
            ("POST", "/v1/consumption/1"), ("PUT", "/v1/transactions/1/appAccountToken"),
        ]
        return routes.map { RawConnection.request($0, $1, ["Host: localhost"] + headers, $0 == "GET" ? nil : []) }
    }

    private func path(_ proxy: Proxy) throws -> String {
        "/v1/transactions/\(try #require(try proxy.store.customer().transactions.first).transactionId)"
    }

    // MARK: - Views

    @Test("An id, a receipt and a signed transaction each return JSON with Cache-Control: no-store")
    func views() async throws {
        try await Proxy.serving(Self.withToken) { proxy in
            let customer = try proxy.store.customer()
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
                let answer = try await proxy.send(request)
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.header("Content-Type") == "application/json")
                #expect(answer.header("Cache-Control") == "no-store")
                #expect(answer.json["transactions"]?.elements?.count == customer.transactions.count)
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
            let nothing = try await proxy.send(get("/v1/nothing", headers))
            for request in try requests(proxy, headers) {
                let answer = try await proxy.send(request)
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
                for request in try requests(proxy, headers) {
                    let answer = try await RawConnection.send(request, to: port)
                    #expect(answer.problem == "401 wrongToken" && answer.header("WWW-Authenticate") == "Bearer")
                }
                // The same response with and without a token: a route that does not exist, and one that is not below
                // /v1.
                #expect(try await proxy.get("/v1/nothing", from: port, headers).problem == "404 notFound")
            }
            #expect(try await proxy.get("/metrics", from: proxy.port, headers).problem == "404 notFound")
            #expect(proxy.store.requests.total == 0)
        }
    }

    @Test("Routes of the operations listener are public only with a configured token, and take no forwarded request")
    func doors() async throws {
        for isConfigured in [false, true] {
            try await Proxy.serving({ if isConfigured { Self.withToken(&$0, &$1) } }) { proxy in
                for (path, isOpen) in [
                    (try path(proxy), false), ("/", false), ("/metrics", false), ("/openapi.json", true),
                ] {
                    let doors = [
                        (proxy.port, [], isOpen), (proxy.port, Self.authorized, isOpen || isConfigured),
                        (try proxy.operationsPort, [], true),
                        (try proxy.operationsPort, ["X-Forwarded-For: 127.0.0.1"], isOpen),
                    ]
                    for (index, (port, headers, isServed)) in doors.enumerated() {
                        let answer = try await proxy.get(path, from: port, headers)
                        #expect(answer.status == (isServed ? 200 : 404), "\(path) \(index) \(isConfigured)")
                    }
                }
                let body = try await RawConnection.send(post("{}", []), to: proxy.operationsPort)
                #expect(body.problem == "400 malformedRequest")
            }
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
                #expect(try await proxy.operations(path, [header]).problem == "404 notFound")
            }
        }
        try await Proxy.serving(Self.withToken) { proxy in
            for port in [try proxy.operationsPort, proxy.port] {
                #expect(try await proxy.get(path(proxy), from: port, Self.authorized + [header]).status == 200)
            }
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
        try await RawConnection.send(RawConnection.request("GET", path, headers), to: port).status
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
        try await Proxy.serving(Self.withToken) { (proxy: Proxy) async throws -> Void in
            for (path, expected) in Self.badPaths {
                #expect(try await proxy.send(get(path, Self.authorized)).problem == expected, "\(path)")
            }
            for (body, expected) in [
                ("", "400 malformedRequest"), (#"{"receiptData":"AAAA"}"#, "400 notAReceipt"),
                (#"{"signedTransaction":"a.b.c"}"#, "400 notASignedTransaction"),
            ] {
                #expect(try await proxy.send(post(body, Self.authorized)).problem == expected, "\(body)")
            }
            #expect(!proxy.log.all.contains { $0.contains(Self.token) })
        }
    }

    @Test("Temporary errors have a Retry-After header")
    func retryAfter() async throws {
        try await Proxy.serving(Self.withToken) { proxy in
            proxy.store.faults.add(SimulatedFault(.status(503), endpoint: "serverAPI"))
            let answer = try await proxy.send(get(try path(proxy), Self.authorized))
            #expect(answer.problem == "503 upstreamUnavailable")
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
                let answer = try await proxy.send(request)
                #expect(answer.problem == expected && answer.header("Connection") == "close")
            }
            let most = "{\(String(repeating: " ", count: 3_145_726))}"
            #expect(try await proxy.send(post(most, Self.authorized)).problem == "400 malformedRequest")
        }
    }
}
