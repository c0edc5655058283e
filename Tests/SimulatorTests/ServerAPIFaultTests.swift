import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Simulated Server API over HTTP")
struct ServerAPIFaultTests {
    private struct Line {
        let store: SimulatedStore
        let port: Int
        let id: String

        func send(
            _ method: String, _ path: String, _ body: JSONValue? = nil
        ) async throws -> (status: Int, body: JSONValue?, retryAfter: String?, type: String?) {
            let url = try #require(URL(string: "http://127.0.0.1:\(port)\(path)"))
            var request = URLRequest(url: url, timeoutInterval: 10)
            request.httpMethod = method
            request.httpBody = body.map { Data($0.bytes) }
            request.setValue("Bearer \(try store.credentials.token())", forHTTPHeaderField: "Authorization")
            let session = URLSession(configuration: .ephemeral)
            defer { session.finishTasksAndInvalidate() }
            let (data, response) = try await session.data(for: request)
            let head = try #require(response as? HTTPURLResponse)
            return (
                head.statusCode, try? JSONValue(reading: [UInt8](data)),
                head.value(forHTTPHeaderField: "Retry-After"), head.value(forHTTPHeaderField: "Content-Type")
            )
        }

        func history(_ more: String = "") async throws -> (
            status: Int, body: JSONValue?, retryAfter: String?, type: String?
        ) {
            try await send("GET", "/production/inApps/v2/history/\(id)\(more)")
        }

        func fault(_ members: KeyValuePairs<String, JSONValue?>) async throws {
            #expect(try await send("POST", "/faults", .object(members)).status == 201)
        }
    }

    private func serving(_ work: (Line) async throws -> Void) async throws {
        let store = try Shared.store(customers: 18)
        let customer = try #require(store.world.customers.last)
        let line = Line(
            store: store, port: try await store.start(), id: try #require(customer.transactions.first).transactionId)
        do {
            try await work(line)
        } catch {
            await store.stop()
            throw error
        }
        await store.stop()
    }

    @Test("It serves both environments, counts requests by endpoint, and returns injected error codes")
    func errors() async throws {
        try await serving { line in
            let good = try await line.history()
            #expect(good.status == 200)
            #expect(good.type == "application/json")
            #expect(good.body?["hasMore"] == .bool(true))
            #expect(try await line.send("GET", "/sandbox/inApps/v2/history/\(line.id)").status == 404)
            try await line.fault([
                "kind": .string("error"), "errorCode": .number(5_000_001), "times": .number(1),
                "endpoint": .string("history"),
            ])
            let failed = try await line.history()
            #expect(failed.status == 500)
            #expect(failed.body?["errorCode"]?.integer == 5_000_001)
            try await line.fault([
                "kind": .string("error"), "errorCode": .number(4_290_000), "retryAfter": .string("17"),
                "times": .number(1),
            ])
            #expect(try await line.history().retryAfter == "17")
            try await line.fault(["kind": .string("html"), "endpoint": .string("serverAPI"), "times": .number(1)])
            #expect(try await line.history().type == "text/html")
            try await line.fault([
                "kind": .string("status"), "status": .number(401), "endpoint": .string("history"), "times": .number(1),
            ])
            #expect(try await line.history().status == 401)
            #expect(try await line.history().status == 200)
            #expect(line.store.requests.count("history.production") == 6)
            #expect(line.store.requests.count("history.sandbox") == 1)
            let nonsense = JSONValue.object(["kind": .string("html"), "endpoint": .string("nonsense")])
            #expect(try await line.send("POST", "/faults", nonsense).status == 400)
        }
    }

    @Test("A smaller budget rejects requests, with Retry-After in milliseconds of UNIX time")
    func budgets() async throws {
        try await serving { line in
            try await line.fault(["kind": .string("budget"), "limit": .number(2), "endpoint": .string("history")])
            #expect(try await line.history().status == 200)
            #expect(try await line.history().status == 200)
            let refused = try await line.history()
            #expect(refused.status == 429)
            #expect(refused.body?["errorCode"]?.integer == 4_290_000)
            let later = try #require(refused.retryAfter.flatMap { Int64($0) })
            #expect((0...1_800_000).contains(later - Timestamp.now.milliseconds))
            #expect(try await line.send("DELETE", "/faults").status == 204)
            #expect(try await line.history().status == 200)
        }
    }

    @Test("Faults return histories that never end, do not advance, are empty, or belong to another app")
    func histories() async throws {
        try await serving { line in
            func next(_ kind: String, _ more: String = "") async throws -> JSONValue {
                try await line.fault(["kind": .string(kind), "times": .number(1)])
                let answer = try await line.history(more)
                #expect(answer.status == 200)
                return try #require(answer.body)
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
            let row = try ServerAPICaller.payload(try #require(foreign["signedTransactions"]?.elements?.first))
            #expect(row["bundleId"] == .string("com.example.other"))
        }
    }

    @Test("A fault closes the connection without a complete response", arguments: ["reset", "truncate"])
    func broken(kind: String) async throws {
        try await serving { line in
            try await line.fault(["kind": .string(kind), "endpoint": .string("history")])
            await #expect(throws: (any Error).self) { try await line.history() }
        }
    }
}
