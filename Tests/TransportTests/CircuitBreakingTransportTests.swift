import ReceiptBridgeHTTPTestServer
import Synchronization
import ReceiptBridgeTestSupport
import Testing
import ReceiptBridgeTransport

@Suite("Circuit-breaking transport")
struct CircuitBreakingTransportTests {
    private static let quick = CircuitBreaker.Policy(
        consecutiveFailures: 3, probeInterval: .milliseconds(200), minimumTimeout: .milliseconds(100))

    /// Runs a test with a circuit-breaking transport, a manual clock and the recorded changes of state.
    private func withTransport(
        _ work: (CircuitBreakingTransport, Clock, Recorded<String>) async throws -> Void
    ) async throws {
        let curl = try CurlTransport(CurlConfiguration(version: "test", proxy: .direct))
        let (clock, changes) = (Clock(), Recorded<String>())
        let transport = CircuitBreakingTransport(
            curl, policy: Self.quick, whenChanged: { changes.add($0.state.rawValue) }, now: { clock.now })
        try await finally({ await transport.shutDown() }) { try await work(transport, clock, changes) }
    }

    private final class Clock: Sendable {
        private let instant = Mutex(ContinuousClock.now)

        var now: ContinuousClock.Instant { instant.withLock { $0 } }

        func advance(by duration: Duration) { instant.withLock { $0 += duration } }
    }

    /// A switch that makes the server healthy.
    private final class Health: Sendable {
        private let value = Mutex(false)
        var isHealthy: Bool { value.withLock { $0 } }
        func recover() { value.withLock { $0 = true } }
    }

    private func send(
        _ transport: CircuitBreakingTransport, _ url: String, timeout: Duration = .seconds(60),
        isRetry: Bool = false
    ) async -> String {
        do throws(TransportError) {
            var request = try HTTPRequest(method: .get, url: url, timeout: timeout)
            request.isRetry = isRetry
            request.isUsable = { $0.status != 200 || $0.body.first == UInt8(ascii: "{") }
            return "\(try await transport.send(request).status)"
        } catch {
            return error.code.rawValue
        }
    }

    @Test(
        "A failing host is not contacted until it has recovered; other hosts are unaffected",
        arguments: [
            (Reply.json("{}", status: 503), "503"), (.json("<html>"), "200"), (.hangUp, "emptyReply"),
            (.reset, "connectionReset"), (.truncated(announced: 100, body: [0x7B]), "truncated"), (.never, "timedOut"),
        ])
    func recovery(fault: Reply, expected: String) async throws {
        let health = Health()
        let failing = try TestServer { _ in health.isHealthy ? .json("{}") : fault }
        let healthy = try TestServer(reply: .json("{}"))
        try await withTransport { transport, clock, changes in
            for _ in 0..<3 {
                #expect(
                    await send(
                        transport, failing.url(), timeout: expected == "timedOut" ? .milliseconds(500) : .seconds(30))
                        == expected)
            }
            // libcurl itself repeats a request once if a reused connection turns out to be closed.
            let requestsBefore = failing.counts.requests
            for _ in 0..<20 { #expect(await send(transport, failing.url()) == "circuitOpen") }
            #expect(failing.counts.requests == requestsBefore)
            #expect(await send(transport, healthy.url()) == "200")
            health.recover()
            // Half of the time to the first probe is random, so it lasts 100 to 200 ms.
            clock.advance(by: .milliseconds(99))
            #expect(await send(transport, failing.url()) == "circuitOpen")
            clock.advance(by: .milliseconds(101))
            #expect(await send(transport, failing.url()) == "200")
            #expect(await send(transport, failing.url()) == "200")
            #expect(changes.all == ["open", "closed"])
            let state = try #require(transport.states.first { $0.host == "http://127.0.0.1:\(failing.port)" })
            #expect(state.state == .closed && state.opened == 1 && state.refused == 21 && state.inFlight == 0)
        }
    }

    @Test("If a host hangs, one request at a time waits for it, for the interval of probes; its late response counts")
    func hangingProbe() async throws {
        let health = Health()
        let server = try TestServer { _ in health.isHealthy ? .after(seconds: 0.6, .json("{}")) : .hangUp }
        try await withTransport { transport, clock, changes in
            for _ in 0..<3 { #expect(await send(transport, server.url()) == "emptyReply") }
            health.recover()
            clock.advance(by: .milliseconds(200))
            let start = ContinuousClock.now
            async let probe = send(transport, server.url())
            #expect(await eventually { transport.states.first?.state == .halfOpen })
            #expect(await send(transport, server.url()) == "circuitOpen")
            #expect(await probe == "timedOut" && ContinuousClock.now - start < .milliseconds(590))
            #expect(transport.states.first?.state == .open)
            #expect(await eventually { changes.all == ["open", "closed"] })
            #expect(await eventually { transport.states.first?.inFlight == 0 })
        }
    }

    @Test("Client errors, redirects, short timeouts and cancellation do not count as failures of the host")
    func neutralOutcomes() async throws {
        for status in [400, 401, 404, 429, 302] {
            let server = try TestServer(reply: .json("{}", status: status))
            try await withTransport { transport, _, changes in
                for _ in 0..<8 { #expect(await send(transport, server.url()) == "\(status)") }
                #expect(changes.all.isEmpty)
            }
        }
        let silent = try TestServer(reply: .never)
        try await withTransport { transport, _, changes in
            for _ in 0..<5 { #expect(await send(transport, silent.url(), timeout: .milliseconds(30)) == "timedOut") }
            let tasks = (0..<5).map { _ in Task { await send(transport, silent.url()) } }
            for task in tasks { task.cancel() }
            for task in tasks { #expect(await task.value == "cancelled") }
            #expect(changes.all.isEmpty && transport.states.allSatisfy { $0.inFlight == 0 })
        }
    }

    @Test("The breaker opens if the connection is refused or the name cannot be resolved")
    func unreachable() async throws {
        let server = try TestServer(reply: .never)
        server.stop()
        try await withTransport { transport, _, _ in
            #expect(await eventually { server.counts.open == 0 })
            // A DNS label cannot have more than 63 characters, so this name fails without a DNS query.
            for url in [server.url(), "https://\(String(repeating: "a", count: 64)).invalid/"] {
                var outcomes: Set<String> = []
                for _ in 0..<5 { outcomes.insert(await send(transport, url)) }
                #expect(outcomes.contains("circuitOpen") && outcomes.count == 2, "\(url) \(outcomes)")
            }
        }
    }

    @Test("Retries over the retry budget fail at once")
    func retryBudget() async throws {
        let quick = try TestServer(reply: .json("{}"))
        try await withTransport { transport, _, _ in
            for _ in 0..<20 { #expect(await send(transport, quick.url()) == "200") }
            var answers: [String] = []
            for _ in 0..<40 { answers.append(await send(transport, quick.url(), isRetry: true)) }
            // Ten, and a fifth of twenty. Binary fractions may lose one.
            #expect((13...14).contains(answers.count { $0 == "200" }))
            #expect(transport.states.first?.rejectedRetries == Int64(answers.count { $0 == "tooManyRepetitions" }))
        }
    }
}
