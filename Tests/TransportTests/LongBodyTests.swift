import ReceiptBridgeHTTPTestServer
import ReceiptBridgeTestSupport
import Testing
import ReceiptBridgeTransport

@Suite("Long bodies over libcurl")
struct LongBodyTests {
    // T22
    @Test("A timeout while sending a long body is not a failure of the host; a short request without a response is")
    func slowUpload() async throws {
        let server = try DeafServer()
        let curl = try CurlTransport(CurlConfiguration(version: "test", proxy: .direct))
        let states = Recorded<String>()
        let timeout = Duration.milliseconds(600)
        let transport = CircuitBreakingTransport(
            curl, policy: CircuitBreaker.Policy(consecutiveFailures: 3, minimumTimeout: .milliseconds(100)),
            whenChanged: { states.add($0.state.rawValue) })
        func send(_ bytes: Int) async throws -> TransportError? {
            let request = try HTTPRequest(
                method: .post, url: "http://127.0.0.1:\(server.port)/", body: [UInt8](repeating: 0x20, count: bytes),
                timeout: timeout)
            return await transport.outcome(of: request).failure
        }
        /// Sends requests at the same time, because each takes the whole timeout.
        func errors(_ count: Int, of bytes: Int) async throws -> [TransportError?] {
            try await withThrowingTaskGroup(of: TransportError?.self) { group in
                for _ in 0..<count { group.addTask { try await send(bytes) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        for error in try await errors(5, of: 32 << 20) {
            let error = try #require(error)
            #expect(error.code == .timedOut && error.timeAtHost == nil, "\(error)")
        }
        #expect(states.all == [])
        for error in try await errors(3, of: 100) {
            let error = try #require(error)
            #expect(error.code == .timedOut && error.timeAtHost ?? .zero > .milliseconds(500), "\(error)")
        }
        #expect(states.all == ["open"])
        await transport.shutDown(grace: .zero)
    }

    @Test("Long bodies arrive unchanged while others are canceled half-way and their memory is reused")
    func cancelledBeside() async throws {
        try await withServer({ .respond(body: $0.body) }) { server, transport in
            let url = server.url()
            for _ in 0..<4 {
                let tasks = (0..<16).map { index in
                    Task {
                        let body = [UInt8](repeating: UInt8(index), count: 1 << 20)
                        return await transport.outcome(of: try HTTPRequest(method: .post, url: url, body: body))
                    }
                }
                try await Task.sleep(for: .milliseconds(20))
                for (index, task) in tasks.enumerated() where index % 2 == 1 { task.cancel() }
                for (index, task) in tasks.enumerated() {
                    switch try await task.value {
                    case .success(let response):
                        #expect(response.body == [UInt8](repeating: UInt8(index), count: 1 << 20))
                    case .failure(let error): #expect(error.code == .cancelled && index % 2 == 1, "\(error)")
                    }
                }
            }
        }
    }
}
