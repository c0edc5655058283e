import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Control endpoints for events")
struct EventRoutesTests {
    @Test(
        "The response lists the generated events, and their notifications are delivered with the options of the request"
    )
    func many() async throws {
        try await serving(customers: 40) { store, client in
            let receiver = try TestServer(reply: .respond())
            let target = JSONValue(["url": try receiver.target().text, "version": 2])
            #expect(try await client.send("POST", "/notifications/targets", target).status == 201)
            let body = JSONValue(["count": 50, "seed": 6, "lost": "0.5", "concurrency": 2, "speed": 36_000])
            let answer = try await client.send("POST", "/events", body)
            #expect(answer.status == 200)
            let events = try #require(answer.json["events"]?.elements)
            #expect(events.count == 50)
            #expect(keys(events.first) == ["event", "customer", "environment", "notifications"])
            let reported = events.flatMap { $0["notifications"]?.elements ?? [] }
            #expect(
                reported.compactMap { $0["notificationUUID"]?.text } == store.notifications.all.map(\.notification.uuid)
            )
            #expect(reported.allSatisfy { $0["notificationType"]?.text != nil && $0["transactionId"]?.text != nil })
            #expect(await eventually { store.outbox.counts.waiting == 0 })
            let counts = try await client.send("GET", "/notifications/deliveries").json
            #expect(keys(counts) == ["made", "delivered", "failed", "lost", "waiting", "copies", "attempts"])
            #expect(counts["made"] == .number(Int64(reported.count)))
            #expect(try #require(counts["lost"]?.integer) > 5)
            #expect(counts["delivered"] == .number(Int64(receiver.documents.count)))
        }
    }

    @Test("One event happens to the requested customer if it is possible there")
    func one() async throws {
        try await serving(customers: 40) { store, client in
            let customer = try store.customer(.activeSubscription)
            let id = try #require(customer.transactions.last).transactionId
            let answer = try await client.send(
                "POST", "/events", JSONValue(["event": "refund", "transactionId": id]))
            let event = try #require(answer.json["events"]?.elements?.first)
            #expect(event["event"] == .string("refund"))
            #expect(event["customer"] == .string(customer.id))
            let reported = try #require(event["notifications"]?.elements)
            #expect(reported.map { $0["notificationType"]?.text } == ["REFUND", "DID_CHANGE_RENEWAL_STATUS"])
            #expect(reported.map { $0["subtype"]?.text } == [nil, "AUTO_RENEW_DISABLED"])
            #expect(reported.first?["transactionId"] == .string(id))
            let original = try #require(customer.transactions.last).originalTransactionId
            for (members, status) in [
                (["event": "refund", "transactionId": id], 409),
                (["event": "resubscribe", "originalTransactionId": original], 200),
                (["event": "renew", "transactionId": "77"], 404), (["event": "renew", "customer": "nobody"], 404),
                (["event": "nonsense"], 400), (["count": -1], 400), (["count": 1, "lost": 2], 400),
                (["event": "renew", "environment": "sandbox"], 200),
            ] as [(KeyValuePairs<String, (any JSONRepresentable)?>, Int)] {
                let answer = try await client.send("POST", "/events", JSONValue(members))
                #expect(answer.status == status, "\(members)")
            }
        }
    }

    @Test("Targets can be set, listed and deleted, and only on this machine")
    func targets() async throws {
        try await serving(customers: 40) { _, client in
            for (target, status) in [
                (["url": "https://example.com/"], 400), (["url": "http://127.0.0.1:9/", "version": 3], 400),
                (["url": "http://127.0.0.1:9/", "environment": "moon"], 400),
                (["url": "http://127.0.0.1:9/a", "version": 1], 201),
                (["url": "http://localhost:9/b", "environment": "sandbox"], 201),
            ] as [(KeyValuePairs<String, (any JSONRepresentable)?>, Int)] {
                let answer = try await client.send("POST", "/notifications/targets", JSONValue(target))
                #expect(answer.status == status, "\(target)")
            }
            #expect(
                try await client.send("GET", "/notifications/targets").text
                    == #"[{"environment":"Production","url":"http://127.0.0.1:9/a","version":1},"#
                    + #"{"environment":"Sandbox","url":"http://localhost:9/b","version":2}]"#)
            #expect(try await client.send("DELETE", "/notifications/targets").status == 204)
            #expect(try await client.send("GET", "/notifications/targets").body == Array("[]".utf8))
        }
    }
}
