import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Synchronization
import ReceiptBridgeTestSupport
import Testing
import ReceiptBridgeTransport

@Suite("Customer records")
struct CustomerRecordsTests {
    @Test("A lookup returns the whole verified history and the statuses, with the same query on every page")
    func whole() async throws {
        let api = try ScriptedServerAPI([
            "subscriptions": .statuses(["100"]),
            "revision=r1": .history([transaction("102", original: "100"), transaction("100")], revision: "r2"),
            "history": .history([transaction("100"), transaction("101", original: "100")], hasMore: true),
        ])
        let records = try await api.records(environment: .production)
        #expect(records.environment == .production)
        #expect(records.bundleId == "com.example.app")
        #expect(records.appAppleId == 1_234_567_890)
        #expect(records.revision == "r2")
        #expect(records.transactions.map(\.payload.transactionId) == ["101", "102", "100"])
        #expect(records.subscriptions.map(\.status) == [1])
        #expect(records.subscriptions.first?.subscriptionGroupIdentifier == "20001")
        #expect(records.subscriptions.first?.renewal?.payload.autoRenewStatus == 1)
        #expect(records.anomalies.isEmpty)
        #expect(
            api.requests == [
                "GET /production/inApps/v2/history/100", "GET /production/inApps/v2/history/100?revision=r1",
                "GET /production/inApps/v1/subscriptions/100",
            ])
    }

    @Test("Members of another spelling are accepted, and those of an unexpected type that nothing needs are left out")
    func otherTypes() async throws {
        let api = try ScriptedServerAPI { path, _ in
            // A type that cannot be read is that of a subscription, because the transaction expires.
            let odd: [JSONValue.Member] = [
                .init("price", .string("9990")), .init("type", .number(1)),
                .init("expiresDate", .number(Shared.noon.milliseconds)),
            ]
            let signed = try Shared.pki.jwsSigner.jws(payload: transaction("100", changing: odd))
            if path.contains("subscriptions") {
                let renewal = try Shared.pki.jwsSigner.jws(
                    payload: .object(["originalTransactionId": .string("100"), "autoRenewStatus": .string("1")]))
                return .json(
                    """
                    {"environment":"Production","data":[{"subscriptionGroupIdentifier":20001,"lastTransactions":\
                    [{"status":"1","originalTransactionId":100,"signedTransactionInfo":"\(signed)",\
                    "signedRenewalInfo":"\(renewal)"}]}]}
                    """)
            }
            return path.hasSuffix("?revision=7")
                ? .json(#"{"revision":"r2","hasMore":"false","appAppleId":[],"signedTransactions":[]}"#)
                : .json(#"{"revision":7,"hasMore":"true","appAppleId":"x","signedTransactions":["\#(signed)"]}"#)
        }
        let records = try await api.records(environment: .production)
        #expect(records.transactions.map(\.payload.transactionId) == ["100"])
        #expect(records.transactions.first?.payload.price == nil && records.revision == "r2")
        #expect(records.appAppleId == nil && records.subscriptions.map(\.status) == [1])
        #expect(records.subscriptions.first?.subscriptionGroupIdentifier == nil)
        #expect(records.subscriptions.first?.renewal?.payload.autoRenewStatus == nil)
    }

    /// A period of subscription 100, in minutes before and after noon.
    private static func period(
        _ id: String, from begin: Int64, to end: Int64, changing extra: [JSONValue.Member] = []
    ) -> JSONValue {
        func time(_ minutes: Int64) -> JSONValue { .number(Shared.noon.advanced(by: .minutes(minutes)).milliseconds) }
        return transaction(
            id, original: "100",
            changing: [.init("purchaseDate", time(begin)), .init("expiresDate", time(end))] + extra)
    }

    private static let expired = period("100", from: -100, to: -10)
    private static let resubscribed = period("101", from: -5, to: 1_000)
    private static let revocation: [JSONValue.Member] = [.init("revocationDate", .number(Shared.noon.milliseconds))]

    @Test("Statuses that are older than the history are asked for once more, and then the history decides")
    func contradiction() async throws {
        let old = [Self.expired, Self.resubscribed]
        let future = [Self.expired, Self.period("102", from: 5, to: 1_000)]
        let revoked = [Self.expired, Self.period("101", from: -5, to: 1_000, changing: Self.revocation)]
        let cases: [(String, [JSONValue], [(Int64, JSONValue)], calls: Int, status: Int, latest: String, Bool)] = [
            ("agree", [Self.expired], [(2, Self.expired)], 1, 2, "100", false),
            ("second answer is new", old, [(2, Self.expired), (1, Self.resubscribed)], 2, 1, "101", false),
            ("second answer is old", old, [(2, Self.expired), (2, Self.expired)], 2, 1, "101", true),
            ("a period that has not begun", future, [(2, Self.expired)], 1, 2, "100", false),
            ("a later period that was revoked", revoked, [(2, Self.expired)], 1, 2, "100", false),
            (
                "the period was revoked since", revoked, [(1, Self.resubscribed), (1, Self.resubscribed)], 2, 5, "101",
                true
            ),
            ("statuses are newer", [Self.expired], [(1, Self.resubscribed)], 1, 1, "101", false),
        ]
        for (name, history, answers, calls, status, latest, isAnomaly) in cases {
            let asked = Mutex(0)
            let api = try ScriptedServerAPI(
                clock: AppStoreClock(now: { Shared.noon }, uptime: { .zero }, sleep: { _ in })
            ) {
                path, _ in
                guard path.contains("subscriptions") else { return try Reply.history(history) }
                let number = asked.withLock { count -> Int in
                    count += 1
                    return min(count, answers.count) - 1
                }
                return try Reply.statuses(of: [answers[number].1], answers[number].0)
            }
            let records = try await api.records(environment: .production)
            #expect(asked.withLock { $0 } == calls, "\(name)")
            #expect(records.subscriptions.map(\.status) == [status], "\(name)")
            #expect(records.subscriptions.first?.transaction?.payload.transactionId == latest, "\(name)")
            #expect(records.anomalies == (isAnomaly ? [.statusOlderThanHistory("100")] : []), "\(name)")
            #expect(records.transactions.contains { $0.payload.transactionId == latest }, "\(name)")
        }
    }

    @Test("A lookup with an earlier history requests only the changes and merges them")
    func since() async throws {
        let api = try ScriptedServerAPI([
            "subscriptions": .statuses(["100"]),
            "revision=r1": .history([transaction("100"), transaction("103", original: "100")], revision: "r3"),
            "revision=r3": .history([], revision: "r3"), "revision=old": .error(4_000_005, status: 400),
            "history": .history([transaction("100"), transaction("102", original: "100")], revision: "r1"),
        ])
        let first = try await api.records(environment: .production)
        #expect(first.revision == "r1")
        func again(_ revision: String, _ records: CustomerRecords) async throws -> CustomerRecords {
            let earlier = try #require(
                api.client.earlierHistory(
                    signedTransactions: records.transactions.map(\.text), revision: revision, in: .production))
            return try await api.client.records(
                for: CustomerIdentifiers(originalTransactionIds: ["100"], transactionIds: []),
                bundleId: "com.example.app",
                environment: .production, since: earlier)
        }
        let second = try await again("r1", first)
        #expect(second.transactions.map(\.payload.transactionId) == ["102", "100", "103"])
        #expect(second.revision == "r3")
        let third = try await again("r3", second)
        #expect(third.transactions.map(\.payload.transactionId) == ["102", "100", "103"])
        let whole = try await again("old", second)
        #expect(whole.transactions.map(\.payload.transactionId) == ["100", "102"])
        #expect(api.client.earlierHistory(signedTransactions: ["a.b.c"], revision: "r", in: .production) == nil)
    }

    @Test("The revision of an earlier history is not used for an identifier that this history does not contain")
    func otherHistory() async throws {
        let api = try ScriptedServerAPI([
            "subscriptions": .statuses(["100", "500"]), "revision=r1": .history([], revision: "r1"),
            "/500": .history([transaction("500"), transaction("501", original: "500")], revision: "r5"),
            "history": .history([transaction("100")], revision: "r1"),
        ])
        let first = try await api.records(environment: .production)
        let earlier = try #require(
            api.client.earlierHistory(
                signedTransactions: first.transactions.map(\.text), revision: "r1", in: .production))
        let records = try await api.client.records(
            for: CustomerIdentifiers(originalTransactionIds: ["100", "500"], transactionIds: []),
            bundleId: "com.example.app", environment: .production, since: earlier)
        #expect(records.transactions.map(\.payload.transactionId) == ["100", "500", "501"])
        // Two histories have no common revision.
        #expect(records.revision == nil)
        #expect(
            api.requests.dropFirst(2).filter { $0.contains("history") } == [
                "GET /production/inApps/v2/history/100?revision=r1", "GET /production/inApps/v2/history/500",
            ])
    }

    @Test(
        "A history is read again from the beginning once if a revision is rejected between two pages",
        arguments: [1, 2])
    func invalidRevision(refusals: Int) async throws {
        let api = try ScriptedServerAPI { path, count in
            if path.contains("subscriptions") { return try Reply.statuses(["100"]) }
            guard path.hasSuffix("?revision=r1") else {
                return try Reply.history([transaction("100")], revision: "r1", hasMore: true)
            }
            guard count > 2 * refusals else { return Reply.error(4_000_005, status: 400) }
            return try Reply.history([transaction("101", original: "100")], revision: "r2")
        }
        if refusals == 1 {
            let records = try await api.records(environment: .production)
            #expect(records.transactions.map(\.payload.transactionId) == ["100", "101"])
            #expect(records.revision == "r2")
        } else {
            await #expect(throws: UpstreamError.self) { try await api.records(environment: .production) }
        }
        let (first, second) = ("GET /production/inApps/v2/history/100", "?revision=r1")
        #expect(Array(api.requests.prefix(4)) == [first, first + second, first, first + second])
        #expect(api.requests.count { $0.contains("history") } == 4)
    }

    @Test("A history without statuses is an error")
    func missingStatuses() async throws {
        for statuses in [Reply.unknown, try .statuses([])] {
            let api = try ScriptedServerAPI(["subscriptions": statuses, "history": .history([transaction("100")])])
            let failure = await api.failure()
            #expect(failure?.code == .statusesMissing && failure?.isTemporary == true)
        }
    }

    @Test("Two histories are returned with the statuses of both")
    func twoHistories() async throws {
        let api = try ScriptedServerAPI([
            "subscriptions/100": .statuses(["100"]), "subscriptions/200": .statuses(["200"]),
            "/100": .history([transaction("100")], revision: "r100"),
            "/200": .history([transaction("200")], revision: "r200"),
        ])
        let records = try await api.records(["100", "200"], environment: .production)
        #expect(records.transactions.map(\.payload.transactionId) == ["100", "200"])
        #expect(records.subscriptions.map(\.originalTransactionId) == ["100", "200"])
        #expect(records.anomalies.isEmpty && records.revision == nil)
        #expect(api.requests.count == 4)
    }

    @Test("Records are returned even if a further history has no statuses", arguments: [true, false])
    func furtherStatuses(hasHistory: Bool) async throws {
        let api = try ScriptedServerAPI([
            "subscriptions/100": .statuses(["100"]),
            "/history/100": .history([transaction("100"), transaction("150")], revision: "r100"),
            "/history/200": hasHistory ? .history([transaction("200")], revision: "r200") : .unknown,
            "/transactions/200": .transactionInfo(transaction("200")),
        ])
        let records = try await api.records(["100", "200"], environment: .production)
        #expect(records.transactions.map(\.payload.transactionId) == ["100", "150", "200"])
        #expect(records.subscriptions.map(\.originalTransactionId) == ["100"])
        #expect(records.anomalies == [.subscriptionWithoutStatus("150"), .subscriptionWithoutStatus("200")])
        #expect(api.requests.filter { $0.contains("subscriptions") }.count == (hasHistory ? 2 : 1))
    }

    @Test("Subscriptions are looked up first, and the lookup continues while only single transactions are known")
    func order() async throws {
        let api = try ScriptedServerAPI { path, _ in
            if path.contains("subscriptions") { return try Reply.statuses(["104"]) }
            if path.contains("/history/104") { return try Reply.history([transaction("104")]) }
            if path.contains("/transactions/1") {
                let id = String(path.suffix(3))
                return try Reply.transactionInfo(transaction(id, type: "Consumable"))
            }
            return Reply.unknown
        }
        func ids(_ texts: [String]) -> [TransactionIdentifier] {
            texts.compactMap(TransactionIdentifier.init(rawValue:))
        }
        let keys = CustomerIdentifiers(
            originalTransactionIds: ["101", "102", "103", "104", "105"], transactionIds: ["101", "106"])
        #expect(Array(keys.inOrder) == ids(["101", "102", "103", "104", "105", "106"]))
        func records(_ keys: CustomerIdentifiers) async throws -> CustomerRecords {
            try await api.client.records(for: keys, bundleId: "com.example.app", environment: .production)
        }
        let first = try await records(keys.asking(first: ids(["104", "105"])))
        #expect(first.transactions.map(\.payload.transactionId) == ["104", "105", "101"])
        // Beside the history of 105, in any order.
        let begin = Set(api.requests.prefix(3))
        #expect(
            begin.isSuperset(of: [
                "GET /production/inApps/v2/history/104", "GET /production/inApps/v1/subscriptions/104",
            ]))
        #expect(try await records(keys).subscriptions.map(\.originalTransactionId) == ["104"])
    }

    /// Looks up the subscriber 100 by the identifier of a subscription, and counts the calls.
    private func expectSubscriber(of api: ScriptedServerAPI, calls: Int) async throws {
        let keys = CustomerIdentifiers(originalTransactionIds: ["100"], transactionIds: [])
        let records = try await api.client.records(
            for: keys.asking(first: keys.originalTransactionIds), bundleId: "com.example.app",
            environment: .production)
        #expect(records.subscriptions.map(\.originalTransactionId) == ["100"])
        #expect(api.requests.count == calls)
    }

    @Test("With the identifier of a subscription, history and statuses are requested at the same time, each once")
    func oneRoundTrip() async throws {
        let statusesArrived = BlockingResponse()
        let api = try ScriptedServerAPI { path, _ in
            guard path.contains("subscriptions") else {
                // Answered only when the other request has arrived.
                return .behind(statusesArrived, try Reply.history([transaction("100")]))
            }
            statusesArrived.open()
            return try Reply.statuses(["100"])
        }
        try await expectSubscriber(of: api, calls: 2)
    }

    @Test("Statuses that fail before the history is known are requested again")
    func earlyStatusesFail() async throws {
        let failures = Mutex(1)
        let api = try ScriptedServerAPI { path, _ in
            guard path.contains("subscriptions") else { return try Reply.history([transaction("100")]) }
            let fails = failures.withLock { failures in
                failures -= 1
                return failures >= 0
            }
            return try fails ? .json("{}", status: 500) : Reply.statuses(["100"])
        }
        try await expectSubscriber(of: api, calls: 3)
    }

    @Test("A lookup tries production, then the sandbox; in each the history, then the single transaction")
    func environments() async throws {
        let consumable = transaction("100", environment: "Sandbox", type: "Consumable")
        let sandbox = try ScriptedServerAPI(["/sandbox/inApps/v1/transactions/": .transactionInfo(consumable)])
        let records = try await sandbox.records()
        #expect(records.environment == .sandbox)
        #expect(records.revision == nil)
        #expect(
            sandbox.requests
                == ["production", "sandbox"].flatMap {
                    ["GET /\($0)/inApps/v2/history/100", "GET /\($0)/inApps/v1/transactions/100"]
                })
        let empty = try ScriptedServerAPI([:])
        #expect(await empty.failure()?.code == .notFound)
        #expect(empty.requests.count == 4)
        #expect(await empty.failure(environment: .sandbox)?.isUnknownTransaction == true)
        #expect(empty.requests.count == 6)
        #expect(await empty.failure(environment: .xcode)?.code == .noEndpoint)
        #expect(empty.requests.count == 6)
    }

    @Test("The id of an app transaction finds its customer, is no anomaly, and is unknown if there is only the id")
    func appTransactionId() async throws {
        let download = JSONValue.Member("appTransactionId", .string("704"))
        let known = try ScriptedServerAPI([
            "/history/704": .history([transaction("100", type: "Consumable", changing: [download])], revision: "r")
        ])
        let records = try await known.records(["704"], environment: .production)
        #expect(records.transactions.map(\.payload.transactionId) == ["100"] && records.anomalies.isEmpty)
        let unknown = try ScriptedServerAPI(["/history/": .unknown, "": .error(4_000_048, status: 400)])
        #expect(await unknown.failure()?.code == .notFound)
    }

    @Test("A 401 from production makes the lookup try the sandbox, for apps that were never released")
    func unreleased() async throws {
        let consumable = transaction("100", environment: "Sandbox", type: "Consumable")
        let api = try ScriptedServerAPI([
            "/sandbox": .history([consumable], environment: "Sandbox"), "": .unauthorized,
        ])
        #expect(try await api.records().environment == .sandbox)
        #expect(api.requests.count == 3)
        let wrongKey = try ScriptedServerAPI(["": .unauthorized])
        #expect(await wrongKey.failure()?.code == .unauthorized)
        #expect(wrongKey.requests.count == 4)
        let neither = try ScriptedServerAPI(["/sandbox": .unknown, "": .unauthorized])
        #expect(await neither.failure()?.code == .unauthorized)
    }

    @Test("Records of several ids are merged, and missing ones are reported")
    func several() async throws {
        let api = try ScriptedServerAPI([
            "/history/100": .history([transaction("100", type: "Consumable"), transaction("200", bundleId: nil)]),
            "subscriptions": .statuses(["900"]),
        ])
        let records = try await api.records(["100", "200", "300"], environment: .production)
        #expect(records.transactions.count == 2)
        let missing = try #require(TransactionIdentifier(rawValue: "300"))
        #expect(
            records.anomalies == [
                .transactionWithoutBundleId("200"), .requestedIdMissing(missing), .subscriptionWithoutStatus("200"),
            ])
        #expect(api.requests.count == 4)
    }

    @Test("A lookup tries a bounded number of ids")
    func many() async throws {
        let api = try ScriptedServerAPI([:])
        let ids = (1...500).map { String($0) }
        #expect(await api.failure(ids)?.code == .notFound)
        #expect(api.requests.count == 20)
    }

    // T19
    @Test(
        "A text that is not a transaction id is never put into a request",
        arguments: ["0", "000", "../", "%2f", "1/2", "-1", "", "１"])
    func identifiers(text: String) async throws {
        try await expectNoCall([text])
        try await expectNoCall([text, String(repeating: "9", count: 30)])
    }

    private func expectNoCall(_ ids: [String]) async throws {
        let api = try ScriptedServerAPI([:])
        #expect(await api.failure(ids)?.code == .noKeys)
        let keys = CustomerIdentifiers(originalTransactionIds: ["1"], transactionIds: [])
        let error = await #expect(throws: UpstreamError.self) {
            try await api.client.records(for: keys, bundleId: "com.example.other", environment: nil)
        }
        #expect(error?.code == .wrongBundleId)
        #expect(api.requests.isEmpty)
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)

        var value: Int { count.withLock { $0 } }

        func increment() { count.withLock { $0 += 1 } }
    }

    @Test("Concurrent lookups of the same customer share one request")
    func singleFlight() async throws {
        let (gate, started) = (BlockingResponse(), Counter())
        let api = try ScriptedServerAPI { _, _ in
            .behind(gate, .after(seconds: 0.3, try Reply.history([transaction("100", type: "Consumable")])))
        }
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    started.increment()
                    return try await api.records().transactions.count
                }
            }
            // Below the timeout of a single exchange, 6 s.
            _ = await eventually(within: .seconds(4)) { started.value == 20 }
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: 1, count: 20))
        #expect(api.requests.count == 1)
        _ = try await api.records()
        #expect(api.requests.count == 2)
    }

    @Test("A caller that joins another's lookup ends at its own time limit or cancellation, and the lookup continues")
    func joinedFlight() async throws {
        let gate = BlockingResponse()
        let api = try ScriptedServerAPI { _, _ in
            .behind(gate, try Reply.history([transaction("100", type: "Consumable")]))
        }
        let waitingLookup = Task { try await api.records().transactions.count }
        #expect(await eventually { api.requests.count == 1 })
        let canceledLookup = Task { await api.failure(["100"], CallOptions(timeLimit: .milliseconds(100))) }
        canceledLookup.cancel()
        _ = await canceledLookup.value
        #expect(await api.failure(["100"], CallOptions(timeLimit: .milliseconds(100)))?.code == .deadline)
        gate.open()
        #expect(try await waitingLookup.value == 1)
        #expect(api.requests.count == 1)
    }

    @Test("A lookup is canceled if all its callers are canceled")
    func cancellation() async throws {
        let api = try ScriptedServerAPI { _, _ in .never }
        let tasks = (0..<3).map { _ in Task { await api.failure(environment: .production) } }
        #expect(await eventually { !api.requests.isEmpty })
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.value?.code.rawValue == "cancelled") }
    }

    @Test("A lookup waits for a short time for the hourly budget, and batch calls leave the reserve to live ones")
    func budget() async throws {
        let clock = ManualClock()
        let budget = ServerAPIBudget(share: 10.0 / 180_000, reserve: 0.5)
        let api = try ScriptedServerAPI(budget: budget, clock: clock.clock) { _, _ in
            try Reply.history([transaction("100", type: "Consumable")])
        }
        let batch = CallOptions(priority: .batch, timeLimit: .seconds(361))
        for _ in 0..<5 { #expect(await api.failure(environment: .production, batch) == nil) }
        let refused = await api.failure(environment: .production, CallOptions(priority: .batch))
        #expect(refused?.code == .budgetSpent)
        #expect(refused?.retryAfter == .seconds(360))
        for _ in 0..<5 { #expect(await api.failure(environment: .production) == nil) }
        #expect(await api.failure(environment: .production)?.code == .budgetSpent)
        clock.advance(.seconds(1800))
        #expect(await api.failure(environment: .production, batch) == nil)
        #expect((.seconds(2160) ..< .milliseconds(2_160_001)).contains(clock.uptime))
    }
}
