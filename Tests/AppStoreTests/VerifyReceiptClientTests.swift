import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import Testing
import ReceiptBridgeTransport

@Suite("verifyReceipt client")
struct VerifyReceiptClientTests {
    private func send(
        timeout: Duration = .seconds(20), body: [UInt8] = Array("{}".utf8),
        environment: AppStoreEnvironment = .production,
        _ answer: @escaping @Sendable (TestServer.Request) -> Reply
    ) async throws -> Result<AppleResponse, UpstreamError> {
        let server = try TestServer(answer)
        let transport = try CurlTransport(CurlConfiguration(version: "0-test"))
        let client = VerifyReceiptClient(
            transport: transport,
            endpoints: try EnvironmentURLs(
                production: server.url("/production/verifyReceipt"), sandbox: server.url("/sandbox/verifyReceipt")),
            maximumResponseBytes: 4 << 20)
        let reply = await client.send(body: body, to: environment, timeout: timeout)
        await transport.shutDown()
        server.stop()
        return reply
    }

    @Test("The response is returned byte for byte with its status")
    func answer() async throws {
        let text = "  {\"status\" :21104,\"x\":\"\\u00e9\u{0301}\" , \"is-retryable\":true}\n"
        let reply = try await send { _ in
            .respond(headers: ["Content-Type: text/plain;charset=UTF-8"], body: Array(text.utf8))
        }
        #expect(
            reply.answer
                == AppleResponse(
                    body: Array(text.utf8), status: VerifyReceiptStatus(rawValue: 21104), isRetryable: true))
    }

    @Test(
        "The body is posted unchanged as JSON to the environment's URL",
        arguments: [
            (AppStoreEnvironment.production, "/production/verifyReceipt"), (.sandbox, "/sandbox/verifyReceipt"),
        ])
    func request(environment: AppStoreEnvironment, path: String) async throws {
        let body = Array("{\"receipt-data\":\"\\/\u{0}é\"}".utf8) + [0xFF]
        let reply = try await send(body: body, environment: environment) { request in
            let isRight =
                request.head[0] == "POST \(path) HTTP/1.1" && request.body == body
                && request.header("Content-Type") == "application/json"
                && request.header("Content-Length") == "\(body.count)"
            return .json("{\"status\":\(isRight ? 0 : 1),\"receipt\":{}}")
        }
        #expect(reply.answer?.status == .valid)
    }

    @Test("After a 429 with Retry-After, requests to that endpoint wait for it, or are not sent if it is too long")
    func pause() async throws {
        let server = try TestServer { request in
            request.head[0].contains("sandbox")
                ? .json(#"{"status":21002}"#) : .respond(status: 429, headers: ["Retry-After: 1"])
        }
        defer { server.stop() }
        let transport = try CurlTransport(CurlConfiguration(version: "0-test"))
        let client = VerifyReceiptClient(
            transport: transport,
            endpoints: try EnvironmentURLs(production: server.url("/production"), sandbox: server.url("/sandbox")))
        func send(_ environment: AppStoreEnvironment, within seconds: Double, isGenuine: Bool = true) async -> String {
            switch await client.send(body: [], to: environment, timeout: .seconds(seconds), isGenuine: isGenuine)
            {
            case .success(let answer): "\(answer.status.rawValue)"
            case .failure(let error): error.code.rawValue
            }
        }
        // Its sender may have caused the 429.
        #expect(await send(.production, within: 20, isGenuine: false) == "httpStatus")
        #expect(await send(.production, within: 20) == "httpStatus")
        let start = ContinuousClock.now
        #expect(await send(.production, within: 1.2) == "rateLimited")
        #expect(await send(.sandbox, within: 20) == "21002")
        #expect(server.counts.requests == 3)
        #expect(await send(.production, within: 20) == "httpStatus")
        #expect(ContinuousClock.now - start > .milliseconds(900) && server.counts.requests == 4)
        await transport.shutDown()
    }

    @Test(
        "A Retry-After is returned with the outage, at most an hour",
        arguments: [("7", Duration.seconds(7)), ("99999", .seconds(3_600)), ("soon", nil)])
    func retryAfter(header: String, pause: Duration?) async throws {
        let reply = try await send { _ in .respond(status: 429, headers: ["Retry-After: \(header)"]) }
        guard case .failure(let failure) = reply else {
            Issue.record("no outage")
            return
        }
        #expect(failure.httpStatus == 429 && failure.retryAfter == pause)
    }

    // T19, T22
    @Test(
        "A response that is not a 200 with a status, and with the receipt that it promises, is an outage, never a status",
        arguments: [
            (Reply.respond(status: 200), "emptyBody", true), (.json("{}"), "noStatus", true),
            (.json("{\"status\":\"x\"}"), "noStatus", true),
            (.json("{\"status\":0}"), "noReceipt", true), (.json("{\"status\":21006}"), "noReceipt", true),
            (.json("{\"status\":0,\"environment\":\"Production\",\"receipt\":null}"), "noReceipt", true),
            (.respond(headers: ["Content-Type: text/html"], body: Array("<html>Bye</html>".utf8)), "notJSON", true),
            (.json("{\"status\":0"), "notJSON", true), (.json("null"), "notJSON", true),
            (.truncated(announced: 13, body: Array("{\"status\":0}".utf8)), "truncated", true),
            (.json("{\"status\":0}", status: 503), "httpStatus", true),
            (.json("{\"status\":0}", status: 429), "httpStatus", true),
            (.json("{\"status\":0}", status: 404), "httpStatus", false),
            (.json("{\"status\":0}", status: 201), "httpStatus", false),
            (.respond(status: 302, headers: ["Location: /x"]), "httpStatus", false), (.reset, "connectionReset", true),
            (.hangUp, "emptyReply", true), (.endless, "responseTooLarge", false), (.never, "timedOut", true),
        ])
    func outage(reply: Reply, code: String, isTemporary: Bool) async throws {
        let failure = try await send(timeout: code == "timedOut" ? .milliseconds(150) : .seconds(20)) { _ in reply }
            .failure
        #expect(failure?.code.rawValue == code)
        #expect(failure?.isTemporary == isTemporary)
        #expect(failure?.place == "127.0.0.1")
    }

    @Test("An outage contains the HTTP status")
    func httpStatus() async throws {
        let failure = try await send { _ in .respond(status: 503, body: Array("busy".utf8)) }.failure
        #expect(failure?.httpStatus == 503)
        #expect(failure?.description == "httpStatus: 127.0.0.1: HTTP status 503")
    }

    @Test("Xcode has no endpoint, and a canceled task or a zero timeout gets an outage")
    func refusals() async throws {
        #expect(try await send(environment: .xcode) { _ in .json("{\"status\":0}") }.failure?.code == .noEndpoint)
        #expect(try await send(timeout: .zero) { _ in .never }.failure?.code.rawValue == "invalidRequest")
        let task = Task { try await send { _ in .never } }
        try await Task.sleep(for: .milliseconds(50))
        task.cancel()
        #expect(try await task.value.failure?.code.rawValue == "cancelled")
    }

    @Test("Each environment has its endpoint, and plain http to a host that is not loopback is rejected")
    func endpoints() throws {
        let production = "https://buy.itunes.apple.com/verifyReceipt"
        let endpoints = try EnvironmentURLs(production: production, sandbox: "https://sandbox.example/verifyReceipt")
        #expect(endpoints[.production]?.text == production)
        #expect(endpoints[.sandbox]?.text == "https://sandbox.example/verifyReceipt")
        #expect(endpoints[.xcode] == nil)
        #expect(throws: TransportError.self) {
            try EnvironmentURLs(production: production, sandbox: "http://example.com/")
        }
    }

    @Test(
        "Only temporary statuses are retried, unless is_retryable is false",
        arguments: [
            (0, nil, false), (21000, nil, false), (21002, nil, false), (21003, true, false), (21005, nil, true),
            (21005, false, false), (21006, nil, false), (21007, nil, false), (21008, nil, false), (21009, nil, true),
            (21010, true, false), (21099, nil, false), (21100, nil, true), (21199, true, true), (21150, false, false),
            (21200, true, false),
        ] as [(Int, Bool?, Bool)])
    func retries(status: Int, isRetryable: Bool?, isTransient: Bool) {
        let status = VerifyReceiptStatus(rawValue: status)
        #expect(AppleResponse(body: [], status: status, isRetryable: isRetryable).isTransient == isTransient)
    }
}

extension Result<AppleResponse, UpstreamError> {
    fileprivate var answer: AppleResponse? {
        guard case .success(let answer) = self else { return nil }
        return answer
    }

    fileprivate var failure: UpstreamError? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}
