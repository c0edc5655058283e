import ReceiptBridgeHTTPTestServer
import ReceiptBridgeTestSupport
import Testing
import ReceiptBridgeTransport

@Suite("Concurrent exchanges over libcurl")
struct CurlConcurrencyTests {
    /// Sends requests concurrently and returns their outcomes in the order of the requests.
    private func sendAll(
        _ count: Int, through transport: CurlTransport, _ request: @escaping @Sendable (Int) throws -> HTTPRequest
    ) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
            for index in 0..<count {
                let request = try request(index)
                group.addTask { (index, await transport.outcome(of: request)) }
            }
            var outcomes = [Outcome?](repeating: nil, count: count)
            for try await (index, outcome) in group { outcomes[index] = outcome }
            return outcomes.compactMap { $0 }
        }
    }

    @Test(
        "Concurrent requests each get their own response, and the next ones reuse the connections",
        arguments: [64, 300])
    func manyAtOnce(count: Int) async throws {
        let configuration = CurlConfiguration(version: "0-test", limits: .init(total: count, perOrigin: count))
        try await withServer(
            { .after(seconds: 0.02, .respond(body: $0.body)) }, configuration: configuration
        ) { server, transport in
            let url = server.url()
            for round in 0..<2 {
                let outcomes = try await sendAll(count, through: transport) { index in
                    try HTTPRequest(method: .post, url: url, body: Array("\(round) \(index)".utf8))
                }
                let bodies = try outcomes.map { String(decoding: try $0.get().body, as: UTF8.self) }
                #expect(bodies == (0..<count).map { "\(round) \($0)" })
            }
            #expect(server.counts.requests == 2 * count)
            #expect(server.counts.connections <= count)
        }
    }

    @Test("Sequential requests share one connection")
    func keepAlive() async throws {
        try await withServer({ _ in .respond(body: [1]) }) { server, transport in
            for _ in 0..<200 { _ = try await transport.send(HTTPRequest(method: .get, url: server.url())) }
            #expect(server.counts.requests == 200)
            #expect(server.counts.connections == 1)
        }
    }

    @Test("A reused connection that the server has closed does not fail the request")
    func staleConnection() async throws {
        try await withServer({ _ in .raw("HTTP/1.1 200 X\r\nContent-Length: 1\r\n\r\nx") }) { server, transport in
            for _ in 0..<20 { _ = try await transport.send(HTTPRequest(method: .post, url: server.url(), body: [1])) }
            #expect(server.counts.requests == 20)
        }
    }

    // T22
    @Test("A response out of turn is not that of the next request: its connection is closed")
    func outOfTurn() async throws {
        try await withServer({ request in
            .both(.respond(body: request.body), .after(seconds: 0.02, .respond(body: Array("late".utf8))))
        }) { server, transport in
            for number in 1...3 {
                let body = Array("\(number)".utf8)
                let response = try await transport.send(
                    HTTPRequest(method: .post, url: server.url(), body: body, timeout: .seconds(5)))
                #expect(response.body == body)
                #expect(await eventually(within: .seconds(2)) { server.counts.open == 0 })
            }
            #expect(server.counts.connections == 3)
        }
    }

    @Test("The connection limit is kept, and queued requests are all served")
    func connectionCap() async throws {
        let configuration = CurlConfiguration(version: "0-test", limits: .init(total: 256, perOrigin: 4))
        try await withServer(
            { _ in .after(seconds: 0.01, .respond()) }, configuration: configuration
        ) { server, transport in
            let url = server.url()
            let outcomes = try await sendAll(64, through: transport) { _ in try HTTPRequest(method: .get, url: url) }
            #expect(outcomes.allSatisfy { (try? $0.get().status) == 200 })
            #expect(server.counts.mostOpen <= 4)
        }
    }

    // T21
    @Test("Canceling returns at once and closes the connection")
    func cancellation() async throws {
        try await withServer({ _ in .never }) { server, transport in
            let request = try HTTPRequest(method: .get, url: server.url(), timeout: .seconds(600))
            let task = Task { await transport.failure(of: request) }
            #expect(await eventually { server.counts.requests == 1 })
            let start = ContinuousClock.now
            task.cancel()
            #expect(await task.value?.code == .cancelled)
            #expect(start.duration(to: .now) < request.timeout)
            #expect(await eventually { server.counts.abandoned == 1 })
        }
    }

    @Test("A task that is canceled before it sends leaves no connection open")
    func cancelledBefore() async throws {
        try await withServer({ _ in .never }) { server, transport in
            let request = try HTTPRequest(method: .get, url: server.url(), timeout: .seconds(60))
            for _ in 0..<200 {
                let task = Task { await transport.failure(of: request) }
                task.cancel()
                #expect(await task.value?.code == .cancelled)
            }
            #expect(await eventually { server.counts.open == 0 })
        }
    }

    // T21
    @Test("Canceling every second request does not affect the others")
    func cancellingSome() async throws {
        let configuration = CurlConfiguration(version: "0-test", limits: .init(total: 256, perOrigin: 8))
        try await withServer(
            { _ in .after(seconds: 0.02, .respond(body: [7])) }, configuration: configuration
        ) { server, transport in
            let request = try HTTPRequest(method: .get, url: server.url(), timeout: .seconds(60))
            let tasks = (0..<100).map { _ in
                Task { await transport.outcome(of: request) }
            }
            for index in stride(from: 0, to: 100, by: 2) { tasks[index].cancel() }
            for (index, task) in tasks.enumerated() {
                switch await task.value {
                case .success(let response): #expect(response.body == [7])
                case .failure(let error): #expect(error.code == .cancelled && index.isMultiple(of: 2))
                }
            }
        }
    }

    @Test("The timeout includes the wait for a connection, and a request that only waited says nothing about the host")
    func deadlineInLine() async throws {
        let configuration = CurlConfiguration(version: "0-test", limits: .init(total: 256, perOrigin: 1))
        try await withServer({ _ in .never }, configuration: configuration) { server, transport in
            let url = server.url()
            // Has the only connection during the whole test.
            let first = Task {
                await transport.failure(of: try HTTPRequest(method: .get, url: url, timeout: .seconds(600)))
            }
            #expect(await eventually { server.counts.requests == 1 })
            let start = ContinuousClock.now
            let outcomes = try await sendAll(7, through: transport) { _ in
                try HTTPRequest(method: .get, url: url, timeout: .milliseconds(300))
            }
            #expect(outcomes.allSatisfy { $0.failure?.code == .noConnection && $0.failure?.timeAtHost == nil })
            #expect(start.duration(to: .now) >= .milliseconds(300))
            #expect(server.counts.requests == 1 && server.counts.connections == 1 && server.counts.abandoned == 0)
            first.cancel()
            #expect(try await first.value?.code == .cancelled)
        }
    }

    @Test("Shutdown fails requests in flight, rejects new ones, and can be repeated")
    func shutDown() async throws {
        let server = try TestServer(reply: .never)
        let transport = try CurlTransport(CurlConfiguration(version: "0-test"))
        let request = try HTTPRequest(method: .get, url: server.url(), timeout: .seconds(60))
        let tasks = (0..<10).map { _ in
            Task { await transport.failure(of: request) }
        }
        #expect(await eventually { server.counts.requests == 10 })
        await transport.shutDown()
        for task in tasks { #expect(await task.value?.code == .shutDown) }
        #expect(await transport.failure(of: request)?.code == .shutDown)
        await transport.shutDown()
        #expect(await eventually { server.counts.abandoned == 10 })
    }

    @Test("Shutdown with a grace period lets requests in flight finish")
    func graceful() async throws {
        let server = try TestServer(reply: .after(seconds: 0.2, .respond(body: [1])))
        let transport = try CurlTransport(CurlConfiguration(version: "0-test"))
        let request = try HTTPRequest(method: .get, url: server.url())
        let task = Task { await transport.outcome(of: request) }
        #expect(await eventually { server.counts.requests == 1 })
        await transport.shutDown(grace: .seconds(30))
        #expect(try await task.value.get().body == [1])
    }

    @Test("A transport that is released without shutdown closes its connections")
    func dropped() async throws {
        let server = try TestServer(reply: .respond())
        do {
            let transport = try CurlTransport(CurlConfiguration(version: "0-test"))
            _ = try await transport.send(HTTPRequest(method: .get, url: server.url()))
            #expect(server.counts.open == 1)
        }
        #expect(await eventually { server.counts.open == 0 })
    }
}
