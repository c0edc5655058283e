import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Control endpoints for events")
struct EventRoutesTests {
    private func serving(_ work: (SimulatedStore, SimulatedStoreTests.Client) async throws -> Void) async throws {
        let store = try Shared.store(customers: 40)
        let client = SimulatedStoreTests.Client(port: try await store.start())
        do {
            try await work(store, client)
        } catch {
            await store.stop()
            throw error
        }
        await store.stop()
    }

    @Test(
        "The response lists the generated events, and their notifications are delivered with the options of the request"
    )
    func many() async throws {
        try await serving { store, client in
            let receiver = try Receiver()
            let target = JSONValue.object(["url": .string(try receiver.target().text), "version": .number(2)])
            #expect(try await client.send("POST", "/notifications/targets", target).status == 201)
            let body = JSONValue.object([
                "count": .number(50), "seed": .number(6), "lost": .string("0.5"), "concurrency": .number(2),
                "speed": .number(36_000),
            ])
            let answer = try await client.send("POST", "/events", body)
            #expect(answer.status == 200)
            let events = try #require(try JSONValue(reading: answer.body)["events"]?.elements)
            #expect(events.count == 50)
            #expect(keys(events.first) == ["event", "customer", "environment", "notifications"])
            let reported = events.flatMap { $0["notifications"]?.elements ?? [] }
            #expect(
                reported.compactMap { $0["notificationUUID"]?.text } == store.notifications.all.map(\.notification.uuid)
            )
            #expect(reported.allSatisfy { $0["notificationType"]?.text != nil && $0["transactionId"]?.text != nil })
            #expect(await eventually { store.outbox.counts.waiting == 0 })
            let counts = try JSONValue(reading: try await client.send("GET", "/notifications/deliveries").body)
            #expect(keys(counts) == ["made", "delivered", "failed", "lost", "waiting", "copies", "attempts"])
            #expect(counts["made"] == .number(Int64(reported.count)))
            #expect(try #require(counts["lost"]?.integer) > 5)
            #expect(counts["delivered"] == .number(Int64(receiver.documents.count)))
        }
    }

    @Test("One event happens to the requested customer if it is possible there")
    func one() async throws {
        try await serving { store, client in
            let customer = try store.customer(.activeSubscription)
            let id = try #require(customer.transactions.last).transactionId
            func ask(_ members: KeyValuePairs<String, JSONValue?>) async throws -> (status: Int, body: [UInt8]) {
                try await client.send("POST", "/events", .object(members))
            }
            let answer = try await ask(["event": .string("refund"), "transactionId": .string(id)])
            let event = try #require(try JSONValue(reading: answer.body)["events"]?.elements?.first)
            #expect(event["event"] == .string("refund"))
            #expect(event["customer"] == .string(customer.id))
            let reported = try #require(event["notifications"]?.elements)
            #expect(reported.map { $0["notificationType"]?.text } == ["REFUND", "DID_CHANGE_RENEWAL_STATUS"])
            #expect(reported.map { $0["subtype"]?.text } == [nil, "AUTO_RENEW_DISABLED"])
            #expect(reported.first?["transactionId"] == .string(id))
            #expect(try await ask(["event": .string("refund"), "transactionId": .string(id)]).status == 409)
            let original = try #require(customer.transactions.last).originalTransactionId
            #expect(
                try await ask(["event": .string("resubscribe"), "originalTransactionId": .string(original)]).status
                    == 200)
            #expect(try await ask(["event": .string("renew"), "transactionId": .string("77")]).status == 404)
            #expect(try await ask(["event": .string("renew"), "customer": .string("nobody")]).status == 404)
            #expect(try await ask(["event": .string("nonsense")]).status == 400)
            #expect(try await ask(["count": .number(-1)]).status == 400)
            #expect(try await ask(["count": .number(1), "lost": .number(2)]).status == 400)
            #expect(try await ask(["event": .string("renew"), "environment": .string("sandbox")]).status == 200)
        }
    }

    @Test("Targets can be set, listed and deleted, and only on this machine")
    func targets() async throws {
        try await serving { _, client in
            func set(_ members: KeyValuePairs<String, JSONValue?>) async throws -> Int {
                try await client.send("POST", "/notifications/targets", .object(members)).status
            }
            #expect(try await set(["url": .string("https://example.com/")]) == 400)
            #expect(try await set(["url": .string("http://127.0.0.1:9/"), "version": .number(3)]) == 400)
            #expect(try await set(["url": .string("http://127.0.0.1:9/"), "environment": .string("moon")]) == 400)
            #expect(try await set(["url": .string("http://127.0.0.1:9/a"), "version": .number(1)]) == 201)
            #expect(try await set(["url": .string("http://localhost:9/b"), "environment": .string("sandbox")]) == 201)
            let reported = try await client.send("GET", "/notifications/targets").body
            #expect(
                String(decoding: reported, as: UTF8.self)
                    == #"[{"environment":"Production","url":"http://127.0.0.1:9/a","version":1},"#
                    + #"{"environment":"Sandbox","url":"http://localhost:9/b","version":2}]"#)
            #expect(try await client.send("DELETE", "/notifications/targets").status == 204)
            #expect(try await client.send("GET", "/notifications/targets").body == Array("[]".utf8))
        }
    }
}
