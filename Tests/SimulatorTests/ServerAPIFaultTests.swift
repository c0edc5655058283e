import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Simulated Server API over HTTP")
struct ServerAPIFaultTests {
    private struct Line {
        let store: SimulatedStore
        let client: Client
        let id: String

        func history(_ more: String = "") async throws -> RawConnection.Answer {
            try await client.send("GET", "/production/inApps/v2/history/\(id)\(more)")
        }

        func fault(_ members: KeyValuePairs<String, (any JSONRepresentable)?>) async throws {
            #expect(try await client.send("POST", "/faults", JSONValue(members)).status == 201)
        }
    }

    private func serving(_ work: (Line) async throws -> Void) async throws {
        try await SimulatorTests.serving(customers: 18) { store, client in
            let first = try #require(store.world.customers.last?.transactions.first)
            try await work(Line(store: store, client: client, id: first.transactionId))
        }
    }

    @Test("It serves both environments, counts requests by endpoint, and returns injected error codes")
    func errors() async throws {
        try await serving { line in
            let good = try await line.history()
            #expect(good.status == 200)
            #expect(good.header("Content-Type") == "application/json")
            #expect(good.json["hasMore"] == .bool(true))
            #expect(try await line.client.send("GET", "/sandbox/inApps/v2/history/\(line.id)").status == 404)
            try await line.fault(["kind": "error", "errorCode": 5_000_001, "times": 1, "endpoint": "history"])
            let failed = try await line.history()
            #expect(failed.status == 500)
            #expect(failed.json["errorCode"]?.integer == 5_000_001)
            try await line.fault(["kind": "error", "errorCode": 4_290_000, "retryAfter": "17", "times": 1])
            #expect(try await line.history().header("Retry-After") == "17")
            try await line.fault(["kind": "html", "endpoint": "serverAPI", "times": 1])
            #expect(try await line.history().header("Content-Type") == "text/html")
            try await line.fault(["kind": "status", "status": 401, "endpoint": "history", "times": 1])
            #expect(try await line.history().status == 401)
            #expect(try await line.history().status == 200)
            #expect(line.store.requests.count("history.production") == 6)
            #expect(line.store.requests.count("history.sandbox") == 1)
            let nonsense = JSONValue(["kind": "html", "endpoint": "nonsense"])
            #expect(try await line.client.send("POST", "/faults", nonsense).status == 400)
        }
    }

    @Test("A smaller budget rejects requests, with Retry-After in milliseconds of UNIX time")
    func budgets() async throws {
        try await serving { line in
            try await line.fault(["kind": "budget", "limit": 2, "endpoint": "history"])
            #expect(try await line.history().status == 200)
            #expect(try await line.history().status == 200)
            let refused = try await line.history()
            #expect(refused.status == 429)
            #expect(refused.json["errorCode"]?.integer == 4_290_000)
            let later = try #require(refused.header("Retry-After").flatMap { Int64($0) })
            #expect((0...1_800_000).contains(later - Timestamp.now.milliseconds))
            #expect(try await line.client.send("DELETE", "/faults").status == 204)
            #expect(try await line.history().status == 200)
        }
    }

    @Test("Faults return histories that never end, do not advance, are empty, or belong to another app")
    func histories() async throws {
        try await serving { line in
            func next(_ kind: String, _ more: String = "") async throws -> JSONValue {
                try await line.fault(["kind": kind, "times": 1])
                let answer = try await line.history(more)
                #expect(answer.status == 200)
                return answer.json
            }
            let first = try await next("endlessPages")
            let second = try await next("endlessPages", "?revision=\(try #require(first["revision"]?.text))")
            #expect(first["hasMore"] == .bool(true) && second["hasMore"] == .bool(true))
            #expect(first["revision"] != second["revision"])
            let still = try await next("unchangedRevision", "?revision=1_1")
            #expect(still["revision"] == .string("1_1") && still["hasMore"] == .bool(true))
            let empty = try await next("emptyHistory")
            #expect(empty["signedTransactions"] == .array([]) && empty["hasMore"] == .bool(false))
            let pause = try await next("emptyPage")
            #expect(pause["signedTransactions"] == .array([]) && pause["hasMore"] == .bool(true))
            #expect(try await next("repeatedRows")["signedTransactions"]?.elements?.count == 21)
            let foreign = try await next("wrongBundle")
            #expect(foreign["bundleId"] == .string("com.example.other"))
            let row = try decoded(foreign["signedTransactions"]?.elements?.first)
            #expect(row["bundleId"] == .string("com.example.other"))
        }
    }
}
