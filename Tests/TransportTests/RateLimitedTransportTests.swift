import ReceiptBridgeHTTPTestServer
import Testing
import ReceiptBridgeTransport

@Suite("Rate-limited transport")
struct RateLimitedTransportTests {
    @Test("The rate limit is kept with many concurrent requests")
    func rate() async throws {
        try await withServer({ _ in .respond() }) { server, transport in
            let limited = RateLimitedTransport(transport, perSecond: 20)
            let request = try HTTPRequest(
                method: .get, url: HTTPURL("http://127.0.0.1:\(server.port)/"), timeout: .seconds(5),
                connectTimeout: .seconds(5), maximumResponseBytes: 1_000)
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<7 { group.addTask { try await limited.send(request).status } }
                for try await status in group { #expect(status == 200) }
            }
            #expect(start.duration(to: .now) >= .milliseconds(300))
        }
    }
}
