import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTransport

@Suite("Server API failures")
struct ServerAPIFailureTests {
    private static let html = Reply.respond(
        headers: ["Content-Type: text/html"], body: Array("<html>Maintenance</html>".utf8))

    // T22
    @Test(
        "An unusable response becomes an error after a bounded number of retries, never a result",
        arguments: [
            (html, "notJSON", 3), (.json("{\"revision\":\"1\",\"signedTra"), "notJSON", 3),
            (.json("null"), "notJSON", 3),
            (.respond(), "emptyBody", 3), (.truncated(announced: 99, body: Array("{}".utf8)), "truncated", 3),
            (.reset, "connectionReset", 3), (.respond(status: 503), "httpStatus", 3),
            (CannedResponse.error(5_000_001, status: 500), "refused", 3),
            (CannedResponse.error(4_040_002, status: 404), "refused", 3),
            (CannedResponse.error(5_000_000, status: 500), "refused", 1),
            (CannedResponse.error(4_000_006, status: 400), "refused", 1),
            (CannedResponse.error(4_999_999, status: 400), "refused", 1), (.respond(status: 404), "httpStatus", 1),
            (.respond(status: 302, headers: ["Location: /x"]), "httpStatus", 1),
            (.json("{\"signedTransactions\":[1]}"), "malformedAnswer", 1),
            (.json("{\"signedTransactions\":[\"x\"]}"), "malformedAnswer", 1),
            (.json("{\"signedTransactions\":[\"x\"],\"hasMore\":\"maybe\"}"), "malformedAnswer", 1),
            (.json("{}"), "emptyHistory", 1),
        ] as [(Reply, String, Int)])
    func outages(reply: Reply, code: String, calls: Int) async throws {
        let api = try ScriptedServerAPI { _, _ in reply }
        let failure = await api.failure(environment: .production)
        #expect(failure?.code.rawValue == code)
        #expect(failure?.isTemporary == (calls == 3))
        #expect(api.requests.count == calls)
    }

    @Test("A temporary failure is retried and the second response is returned")
    func passing() async throws {
        let api = try ScriptedServerAPI { _, count in
            try count == 1
                ? CannedResponse.error(5_000_001, status: 500)
                : CannedResponse.history([transaction("100", type: "Consumable")])
        }
        #expect(try await api.records().transactions.count == 1)
        #expect(api.requests.count == 2)
    }

    @Test("After a 401 the call is retried once with a new token")
    func flap() async throws {
        let api = try ScriptedServerAPI { _, count in
            try count == 1
                ? CannedResponse.unauthorized : CannedResponse.history([transaction("100", type: "Consumable")])
        }
        #expect(try await api.records(environment: .production).transactions.count == 1)
        #expect(api.requests.count == 2)
        let rejecting = try ScriptedServerAPI { _, _ in CannedResponse.unauthorized }
        let failure = await rejecting.failure(environment: .production)
        #expect(failure?.code == .unauthorized)
        #expect(failure?.isTemporary == false)
        #expect(rejecting.requests.count == 2)
    }

    // T22
    @Test(
        "The error for a 401 names a wrong local clock",
        arguments: [
            ("Sat, 21 Nov 2026 12:00:00 GMT", nil), ("Sat, 21 Nov 2026 12:00:30 GMT", nil),
            ("Sat, 21 Nov 2026 12:00:31 GMT", "31 s behind"), ("Sat, 21 Nov 2026 11:50:00 GMT", "600 s ahead of"),
            ("yesterday", nil),
        ] as [(String, String?)])
    func clock(date: String, difference: String?) async throws {
        let api = try ScriptedServerAPI(clock: ManualClock().clock) { _, _ in
            .respond(status: 401, headers: ["Date: \(date)"])
        }
        let failure = try #require(await api.failure(environment: .production))
        #expect(failure.code == .unauthorized)
        #expect(failure.reason.contains("clock") == (difference != nil), "\(failure)")
        #expect(failure.reason.contains(difference ?? "wrong key"), "\(failure)")
    }

    // T22
    @Test(
        "After a 429 the call waits for a short Retry-After and gives up on a long one",
        arguments: [
            ("1795262405000", true, 5), ("1700000000000", true, 0), ("2", true, 2), ("1795262403", true, 3),
            ("1795262500000", false, 0), ("9999999999999", false, 0), ("3600", false, 0), ("soon", true, 0),
        ] as [(String, Bool, Int)])
    func retryAfter(value: String, isAnswered: Bool, seconds: Int) async throws {
        let clock = ManualClock()
        let api = try ScriptedServerAPI(clock: clock.clock) { _, count in
            try count == 1
                ? CannedResponse.error(4_290_000, status: 429, headers: ["Retry-After: \(value)"])
                : CannedResponse.history([transaction("100", type: "Consumable")])
        }
        let failure = await api.failure(environment: .production)
        #expect((failure == nil) == isAnswered)
        #expect(api.requests.count == (isAnswered ? 2 : 1))
        #expect(clock.uptime >= .seconds(seconds) && clock.uptime < .seconds(seconds + 1))
        if !isAnswered { #expect(failure?.errorNumber == .rateLimitExceeded) }
    }

    @Test("After a long Retry-After the endpoint is not called until it has passed")
    func pause() async throws {
        let clock = ManualClock()
        let budget = ServerAPIBudget()
        let api = try ScriptedServerAPI(budget: budget, clock: clock.clock) { _, count in
            try count == 1
                ? CannedResponse.error(4_290_000, status: 429, headers: ["Retry-After: 60"])
                : CannedResponse.history([transaction("100", type: "Consumable")])
        }
        #expect(await api.failure(environment: .production)?.httpStatus == 429)
        let failure = await api.failure(environment: .production)
        #expect(failure?.code == .budgetSpent)
        #expect(failure?.retryAfter == .seconds(60))
        #expect(api.requests.count == 1)
        clock.advance(.seconds(60))
        #expect(await api.failure(environment: .production) == nil)
    }

    @Test("A lookup ends within its time limit and its maximum number of calls")
    func bounds() async throws {
        let silent = try ScriptedServerAPI { _, _ in .never }
        let failure = await silent.failure(CallOptions(timeLimit: .milliseconds(300)))
        #expect(failure?.code.rawValue == "timedOut")
        // Otherwise the timeout of a request would have ended it after seconds, and it would have been repeated.
        #expect(silent.requests.count <= 1)
        let endless = try ScriptedServerAPI { _, count in
            try CannedResponse.history([], revision: "r\(count)", hasMore: true)
        }
        #expect(await endless.failure(CallOptions(maximumCalls: 12))?.code == .tooManyCalls)
        #expect(endless.requests.count == 12)
        let circling = try ScriptedServerAPI { _, _ in try CannedResponse.history([], revision: "r", hasMore: true) }
        #expect(await circling.failure(environment: .production)?.code == .endlessPages)
        #expect(circling.requests.count == 2)
    }

    @Test("A failed request for a test notification is not retried")
    func repeating() async throws {
        let api = try ScriptedServerAPI { _, _ in .respond(status: 503) }
        await #expect(throws: UpstreamError.self) {
            try await api.client.requestTestNotification(in: .sandbox)
        }
        #expect(api.requests.count == 1)
    }

    @Test("A row that the App Store signed for another app or environment is left out and counted, and no other row")
    func foreignRows() async throws {
        let counts = UpstreamMetrics()
        let clip = "com.example.app.Clip"
        let api = try ScriptedServerAPI(counts: counts) { path, _ in
            if path.contains("/subscriptions/") {
                return try CannedResponse.statuses(of: [
                    transaction("100"), transaction("201", bundleId: clip), transaction("202", environment: "Sandbox"),
                ])
            }
            return path.contains("r1")
                ? try CannedResponse.history([transaction("103", environment: "Sandbox"), transaction("104")])
                : try CannedResponse.history(
                    [
                        transaction("101", bundleId: clip), transaction("100"),
                        transaction("102", environment: "Xcode"),
                    ], hasMore: true)
        }
        let records = try await api.records(environment: .production)
        #expect(records.transactions.map(\.payload.transactionId) == ["100", "104"])
        #expect(records.subscriptions.map(\.originalTransactionId) == ["100"])
        #expect(counts.foreignRecords.count(AppStoreEnvironment.production) == 5)
        let id = try #require(TransactionIdentifier(rawValue: "100"))
        let refunds = try await api.client.refunds(id, in: .production)
        #expect(refunds.transactions.map(\.payload.transactionId) == ["100", "104"])
    }

    @Test("A response about another app or environment, with a foreign signature or an unreadable date is no history")
    func strangers() async throws {
        let foreign = try Shared.foreign.jwsSigner.jws(payload: transaction("100"))
        let genuine = try Shared.pki.jwsSigner.jws(payload: transaction("101"))
        let other = "com.example.other"
        let undated = transaction("100", changing: [.init("revocationDate", .string("x"))])
        let replies: [(Reply, UpstreamError.Code)] = [
            (try CannedResponse.history([transaction("100")], bundleId: other), .wrongBundleId),
            (try CannedResponse.history([transaction("100", bundleId: other)]), .wrongBundleId),
            (
                try CannedResponse.history([
                    transaction("100", bundleId: other), transaction("101", environment: "Sandbox"),
                ]), .wrongBundleId
            ),
            (try CannedResponse.history([transaction("100")], environment: "Sandbox"), .wrongEnvironment),
            (try CannedResponse.history([transaction("100", environment: "Sandbox")]), .wrongEnvironment),
            (.json("{\"signedTransactions\":[\"\(foreign)\"]}"), .notAuthentic),
            (.json("{\"signedTransactions\":[\"\(genuine)\",\"\(foreign)\"]}"), .notAuthentic),
            // A row with a date that decides and cannot be read is not called forged.
            (try CannedResponse.history([undated]), .unexpectedType),
        ]
        for (reply, code) in replies {
            let api = try ScriptedServerAPI { _, _ in reply }
            let failure = await api.failure(environment: .production)
            #expect(failure?.code == code && failure?.isTemporary == false)
        }
    }
}

extension ScriptedServerAPI {
    fileprivate func failure(_ options: CallOptions) async -> UpstreamError? {
        await failure(["100"], environment: .production, options)
    }
}
