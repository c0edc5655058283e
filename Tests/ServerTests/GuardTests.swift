import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Limits of the public listener")
struct GuardTests {
    // MARK: - Slow ones

    // T20
    @Test("A client that begins a request and does not complete it is disconnected; other clients are not")
    func slow() async throws {
        async let heads: Void = slow(isHeadShort: true)
        async let bodies: Void = slow(isHeadShort: false)
        _ = try await (heads, bodies)
    }

    /// Sends two requests byte by byte: one without the end of its head, one without the end of its body. One of the
    /// two limits is a second and the other is longer than the test, so that a delay cannot disconnect the wrong
    /// client.
    private func slow(isHeadShort: Bool) async throws {
        try await Proxy.serving { settings, _ in
            settings.limits.headSeconds = isHeadShort ? 1 : 600
            settings.limits.requestSeconds = isHeadShort ? 600 : 1
        } _: { proxy in
            let (patient, head, body) = (try proxy.connect(), try proxy.connect(), try proxy.connect())
            let question = RawConnection.post("/verifyReceipt", try proxy.question())
            if isHeadShort {
                try await patient.send(question)
                #expect(try await patient.answer()?.verdict == 0)
            }
            let start = ContinuousClock.now
            try await head.send("POST /verifyReceipt HTTP/1.1\r\nHost: a")
            try await body.send("POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{")
            let (short, long) = isHeadShort ? (head, body) : (body, head)
            var isOpen = true
            while isOpen, ContinuousClock.now - start < .seconds(60) {
                isOpen = (try? await short.send("x")) != nil
                try await long.send("x")
                try await Task.sleep(for: .milliseconds(50))
            }
            let end = ContinuousClock.now - start
            #expect(!isOpen && end >= .milliseconds(950), "\(isHeadShort): \(end)")
            // A closed connection accepts the first byte, and not the next.
            for _ in 0..<3 {
                try await long.send("x")
                try await Task.sleep(for: .milliseconds(20))
            }
            guard isHeadShort else { return }
            // Idle for the whole time.
            try await patient.send(question)
            #expect(try await patient.answer()?.verdict == 0)
        }
    }

    // MARK: - Many

    @Test(
        "outageStatus changes the number or the HTTP status of a 21005 of ours; the metrics count 21005",
        arguments: [("21005", 200, 21005), ("21100", 200, 21100), ("21199", 200, 21199), ("503", 503, 21005)])
    func outageStatus(configured: String, http: Int, number: Int) async throws {
        let outageStatus = try #require(OutageStatus(configured))
        try await Proxy.serving { settings, _ in
            settings.limits.requestsPerMinute = 1
            settings.outageStatus = outageStatus
        } _: { proxy in
            #expect(try await proxy.verify().verdict == 0)
            let limited = try await proxy.verify()
            #expect(limited.status == http && limited.header("Retry-After") != nil)
            #expect(limited.header("Content-Type") == "application/json")
            #expect(limited.text == #"{"status":\#(number),"is_retryable":true,"is-retryable":true}"#)
            let metrics = try await proxy.metrics()
            let labels = #"{app="other",status="21005",source="receipt",environment="Production"}"#
            #expect(metrics["receipt_bridge_verdicts_total\(labels)"] == 1)
            #expect(metrics[#"receipt_bridge_http_requests_total{route="/verifyReceipt",status="\#(http)"}"#] >= 1)
        }
    }

    @Test("With outageStatus 503 every 21005 of ours is HTTP 503, and Apple's own 21005 is forwarded unchanged")
    func serviceUnavailable() async throws {
        func serving(_ deadline: Duration, _ work: (Proxy) async throws -> Void) async throws {
            try await Proxy.serving(
                { ($0.outageStatus, $0.deadline, $1.answer) = (.serviceUnavailable, deadline, [.apple]) }, work)
        }
        func expectOurs(_ fault: SimulatedFault, from proxy: Proxy) async throws {
            proxy.store.faults.removeAll()
            proxy.store.faults.add(fault)
            let ours = try await proxy.verify()
            #expect(ours.status == 503 && ours.header("Retry-After") == "5")
            #expect(ours.text == #"{"status":21005,"is_retryable":true,"is-retryable":true}"#)
            #expect(ours.header("Receipt-Bridge-Source") == "apple")
        }
        // Apple is too slow.
        try await serving(.milliseconds(300)) { proxy in
            try await expectOurs(SimulatedFault(.delay, milliseconds: 600_000), from: proxy)
        }
        try await serving(.seconds(60)) { proxy in
            // Apple has a status of its own.
            proxy.store.faults.add(SimulatedFault(.verdict(21005)))
            let apples = try await proxy.verify()
            #expect(apples.status == 200 && apples.text == #"{"status":21005}"#)
            #expect(apples.header("Retry-After") == nil)
            // Apple is down.
            try await expectOurs(SimulatedFault(.html), from: proxy)
            // Not an outage.
            let malformed = try await proxy.verify(Array("{}".utf8))
            #expect(malformed.status == 200 && malformed.text == #"{"status":21002}"#)
        }
    }

    // T20
    @Test("A client over its rate limit gets 21005 from verifyReceipt and 429 from /v1")
    func rates() async throws {
        try await Proxy.serving { settings, _ in
            settings.limits.requestsPerMinute = 3
            settings.tokens = [Redacted("token")]
        } _: { proxy in
            for _ in 0..<3 { #expect(try await proxy.verify().verdict == 0) }
            let limited = try await proxy.verify()
            #expect(
                limited.status == 200 && limited.text == #"{"status":21005,"is_retryable":true,"is-retryable":true}"#)
            #expect(limited.header("Receipt-Bridge-Source") == "receipt")
            let seconds = limited.header("Retry-After").flatMap(Int.init) ?? 0
            #expect((1...20).contains(seconds))
            // No proxy is trusted, so the addresses that a client sends do not matter.
            #expect(try await proxy.verify(nil, ["X-Forwarded-For: 203.0.113.7"]).verdict == 21005)
            let view = try await proxy.get("/v1/transactions/1", from: proxy.port, ["Authorization: Bearer token"])
            #expect(view.problem == "429 tooManyRequests" && view.header("Retry-After") != nil)
            #expect(try await proxy.get("/healthz", from: proxy.port).status == 200)
            #expect(proxy.log.all.filter { $0.contains("limits.requestsPerMinute") }.count == 1)
            let metrics = try await proxy.metrics()
            #expect(metrics[#"receipt_bridge_clients_turned_away_total{limit="requestsPerMinute"}"#] == 3)
            #expect(metrics[#"receipt_bridge_clients_turned_away_total{limit="connectionsPerClient"}"#] == 0)
        }
    }

    @Test("Clients are identified by the trusted proxy's X-Forwarded-For entry; earlier entries are ignored")
    func forwarded() async throws {
        try await Proxy.serving { settings, _ in
            settings.limits.requestsPerMinute = 1
            settings.trustedProxies = ["127.0.0.0/8", "10.0.0.0/8"].compactMap(AddressRange.init)
        } _: { (proxy: Proxy) async throws -> Void in
            func ask(_ chain: String) async throws -> Int64? {
                try await proxy.verify(nil, ["X-Forwarded-For: \(chain)"]).verdict
            }
            #expect(try await ask("203.0.113.7") == 0)
            #expect(try await ask("203.0.113.7") == 21005)
            #expect(try await ask("198.51.100.1, 203.0.113.7, 10.1.2.3") == 21005)
            #expect(try await ask("198.51.100.1") == 0)
            #expect(try await ask("2001:db8:1:2::1") == 0)
            #expect(try await ask("[2001:db8:1:2::99]:4711") == 21005)
            #expect(try await ask("2001:db8:1:3::1") == 0)
            #expect(try await ask("198.51.100.9:1234, garbage") == 0)
        }
    }

    @Test("Clients are not limited by default")
    func unlimited() async throws {
        try await Proxy.serving { proxy in
            let connection = try proxy.connect()
            for _ in 0..<600 {
                let answer = try await connection.ask(RawConnection.post("/verifyReceipt", Array("{}".utf8)))
                #expect(answer.text == #"{"status":21002}"#)
            }
        }
    }

    private static let health = RawConnection.request("GET", "/healthz")

    // T20
    @Test("A connection over the limit per client is closed, and a new one is accepted after another has closed")
    func connectionsOfOne() async throws {
        try await Proxy.serving { settings, _ in
            settings.limits.connectionsPerClient = 2
        } _: { proxy in
            // One after the other, because several event loops accept simultaneous connections in any order.
            let (first, second) = (try proxy.connect(), try proxy.connect())
            for connection in [first, second] { #expect(try await connection.ask(Self.health).status == 200) }
            let third = try proxy.connect()
            try? await third.send(Self.health)
            #expect((try? await third.answer()) == nil)
            let turnedAway = #"receipt_bridge_clients_turned_away_total{limit="connectionsPerClient"}"#
            #expect(try await proxy.metrics()[turnedAway] == 1)
            // The client may see the end of the third connection before it is counted.
            #expect(
                await eventually {
                    let metrics = try? await proxy.metrics()
                    return metrics?[#"receipt_bridge_http_connections{listener="public"}"#] == 2
                        && metrics?[#"receipt_bridge_http_connections{listener="operations"}"#] == 1
                })
            #expect(proxy.log.all.filter { $0.contains("limits.connectionsPerClient") }.count == 1)
            first.leave()
            #expect(
                await eventually {
                    guard let next = try? proxy.connect() else { return false }
                    return (try? await next.ask(Self.health))?.status == 200
                })
            withExtendedLifetime(second) {}
        }
    }

    // T20
    @Test("If all connections are in use, the one that has been without a whole request for the longest time leaves")
    func connectionsOfAll() async throws {
        try await Proxy.serving { settings, _ in
            settings.limits.connections = 2
        } _: { proxy in
            let stalled = try (0..<3).map { _ in try proxy.connect() }
            for connection in stalled {
                try await connection.send("POST /verifyReceipt HTTP/1.1\r\nHost: a\r\nContent-Le")
            }
            // The listener accepts several waiting connections at once, also beyond the limit.
            #expect(
                await eventually {
                    let metrics = try? await proxy.metrics()
                    return metrics?[#"receipt_bridge_http_connections{listener="public"}"#] ?? 0 >= 2
                })
            let payer = try proxy.connect()
            #expect(try await payer.ask(Self.health).status == 200)
            #expect(proxy.log.all.filter { $0.contains("all connections are in use") }.count == 1)
            withExtendedLifetime(stalled) {}
        }
    }

    // MARK: - Sandbox and replay

    /// Returns the first sandbox receipt of a customer with purchases, with or without an account token.
    private func receipt(in store: SimulatedStore, withToken hasToken: Bool) throws -> IssuedReceipt {
        try #require(
            store.receipts.first { receipt in
                receipt.environment == .sandbox && receipt.plan.version == nil
                    && !receipt.transactions.isEmpty
                    && receipt.transactions.contains { $0.appAccountToken != nil } == hasToken
            })
    }

    @Test("Only testers' sandbox receipts are accepted, by ids in the receipt or account tokens from the Server API")
    func testers() async throws {
        let tester = try receipt(in: try SharedSimulator.world, withToken: true)
        let names = [
            try #require(tester.transactions.first?.originalTransactionId),
            try #require(tester.transactions.compactMap(\.appAccountToken).first).uppercased(),
        ]
        for name in names {
            try await Proxy.serving(with: .init(customers: 36)) { _, app in
                app.testers = SandboxAllowlist([name])
            } _: { proxy in
                func ask(_ receipt: IssuedReceipt) async throws -> Int64? {
                    try await proxy.verify(receipt.question).verdict
                }
                let own = try receipt(in: proxy.store, withToken: true)
                let other = try receipt(in: proxy.store, withToken: false)
                #expect(try await ask(own) == 0, "\(name)")
                #expect(try await ask(other) == 21003, "\(name)")
                #expect(try await proxy.verify().verdict == 0)
            }
        }
        // Without the Server API it is unknown whose token it is, so the status is 21005.
        try await Proxy.serving(with: .init(customers: 36)) { _, app in
            app.testers = SandboxAllowlist([names[1]])
        } _: { (proxy: Proxy) async throws -> Void in
            proxy.store.faults.add(SimulatedFault(.status(400), endpoint: "serverAPI"))
            #expect(try await proxy.verify(receipt(in: proxy.store, withToken: true).question).verdict == 21005)
        }
    }

    // T28
    @Test("A purchase presented by a second user is detected if the caller sends user names", arguments: [false, true])
    func replay(isRefused: Bool) async throws {
        try await Proxy.serving { settings, app in
            settings.userHeader = "X-User-Id"
            if isRefused { app.replay = .refuse }
        } _: { (proxy: Proxy) async throws -> Void in
            func ask(_ user: String?) async throws -> Int64? {
                try await proxy.verify(nil, user.map { ["X-User-Id: \($0)"] } ?? []).verdict
            }
            func lines() -> [String] { proxy.log.all.filter { $0.contains("presented with a different account") } }
            #expect(try await ask(nil) == 0)
            #expect(try await ask("canary-alice") == 0)
            #expect(try await ask("canary-alice") == 0)
            #expect(lines().isEmpty)
            #expect(try await ask("bob") == (isRefused ? 21003 : 0))
            #expect(try await ask("bob") == (isRefused ? 21003 : 0))
            #expect(try await ask("canary-alice") == 0)
            #expect(try await ask(nil) == 0)
            #expect(lines().count == 1 && lines().first?.contains("com.example.app") == true)
            #expect(!proxy.log.all.contains { $0.contains("canary-alice") })
        }
    }
}
