import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Delivery of notifications")
struct DeliveryTests {
    @Test("In version 2, every notification arrives once as a JWS with two signed records dated like the event")
    func secondVersion() async throws {
        let (store, receiver) = (try SharedSimulator.store(customers: 40), try TestServer(reply: .respond()))
        try store.notify(receiver)
        try await store.delivering {
            let sent = store.simulate(TestSize.pick(debug: 80, release: 200), seed: 3).flatMap(\.notifications)
            #expect(await eventually { store.outbox.counts.waiting == 0 })
            #expect(receiver.documents.allSatisfy { keys($0) == ["signedPayload"] })
            let payloads = try receiver.payloads()
            #expect(payloads.count == sent.count)
            let byId = Dictionary(payloads.map { ($0["notificationUUID"]?.text, $0) }) { first, _ in first }
            #expect(byId.count == sent.count)
            for notification in sent {
                let payload = try #require(byId[notification.uuid])
                #expect(payload["notificationType"]?.text == notification.type)
                #expect(payload["subtype"]?.text == notification.subtype)
                #expect(payload["signedDate"]?.integer == notification.date.milliseconds)
                let data = try #require(payload["data"])
                #expect(data["environment"]?.text == notification.environment.rawValue)
                #expect((data["appAppleId"] == nil) == (notification.environment == .sandbox))
                #expect(data["bundleVersion"]?.text == "42")
                let transaction = try decoded(data["signedTransactionInfo"])
                #expect(transaction["signedDate"] == payload["signedDate"])
                #expect(transaction["transactionId"]?.text == notification.transaction?.transactionId)
                #expect((data["signedRenewalInfo"] == nil) == (notification.renewal == nil))
                #expect((data["status"] == nil) == (notification.renewal == nil))
                #expect((data["consumptionRequestReason"] == nil) == (notification.type != "CONSUMPTION_REQUEST"))
            }
        }
        let counts = store.outbox.counts
        #expect((counts.made, counts.delivered, counts.failed) == (counts.made, counts.made, 0))
    }

    @Test("In production, version 2 is retried five times, and notifications without a success are listed as failures")
    func retries() async throws {
        let (store, receiver) = (try SharedSimulator.store(customers: 40), try TestServer(reply: .respond(status: 503)))
        try store.notify(receiver)
        store.outbox.setSpeed(36_000_000)
        let production = try store.customer(.activeSubscription)
        let sandbox = try store.customer(.activeSubscription, .sandbox)
        try await store.delivering {
            try store.simulate(EventRequest(.renew, customerId: production.id))
            try store.simulate(EventRequest(.renew, customerId: sandbox.id))
        }
        #expect(store.notifications.all.map(\.attempts.count) == [6, 1])
        #expect(receiver.documents.count == 7)
        #expect(store.outbox.counts.failed == 2)
        let failed = try #require(try store.notificationItems(onlyFailures: true).first)
        let attempts = try #require(failed["sendAttempts"]?.elements)
        #expect(attempts.count == 6)
        #expect(attempts.allSatisfy { $0["sendAttemptResult"]?.text == "UNSUCCESSFUL_HTTP_RESPONSE_CODE" })
        let dates = attempts.compactMap { $0["attemptDate"]?.integer }
        #expect(dates == Set(dates).sorted())
        #expect(try store.notificationItems(onlyFailures: true, in: .sandbox).count == 1)
        // All attempts are about the same event.
        #expect(Set(try receiver.payloads().map { $0["notificationUUID"]?.text }).count == 2)
    }

    @Test(
        "No more attempts follow a retry that succeeds",
        arguments: [Reply.respond(status: 500), .hangUp, .raw("nonsense\r\n")])
    func recovery(first: Reply) async throws {
        let (store, receiver) = (
            try SharedSimulator.store(customers: 40), try TestServer { $0.index == 0 ? first : .respond(status: 204) }
        )
        try store.notify(receiver)
        store.outbox.setSpeed(3_600_000)
        try await store.delivering { try store.simulate(EventRequest(.renew, environment: .production)) }
        let attempts = try #require(store.notifications[0]).attempts
        #expect(attempts.count == 2)
        #expect(attempts.last?.result == .success)
        #expect(attempts.first?.result != .success)
        #expect(store.outbox.counts.delivered == 1)
        #expect(try store.notificationItems(onlyFailures: true).isEmpty)
        #expect(try store.notificationItems().count == 1)
    }

    @Test("A status that is neither success nor error is not retried; a refused connection is", arguments: [302, 0])
    func unreachable(status: Int) async throws {
        let (store, receiver) = (
            try SharedSimulator.store(customers: 40), try TestServer(reply: .respond(status: status))
        )
        let unreachable = try #require(NotificationTarget("http://127.0.0.1:9"))
        store.outbox.targets.set(status == 0 ? unreachable : try receiver.target())
        store.outbox.setSpeed(36_000_000)
        try await store.delivering { try store.simulate(EventRequest(.renew, environment: .production)) }
        let results = try #require(store.notifications[0]).attempts.map(\.result)
        #expect(results == (status == 0 ? Array(repeating: .socketIssue, count: 6) : [.unsuccessfulStatus]))
    }

    @Test("A response that takes longer than the timeout counts as none and is retried")
    func timeout() async throws {
        let (store, receiver) = (
            try SharedSimulator.store(customers: 40), try TestServer { $0.index == 0 ? .never : .respond() }
        )
        var target = try receiver.target()
        target.timeout = .milliseconds(400)
        store.outbox.targets.set(target)
        store.outbox.setSpeed(36_000_000)
        try await store.delivering { try store.simulate(EventRequest(.renew, environment: .production)) }
        // On a busy machine a retry may time out too.
        let results = try #require(store.notifications[0]).attempts.map(\.result)
        #expect(results.count >= 2 && results.last == .success && results.dropLast().allSatisfy { $0 == .timedOut })
    }

    @Test("The pauses before retries are those that Apple documents")
    func schedule() {
        func hours(_ version: NotificationTarget.Version, _ environment: AppStoreEnvironment) -> [Int64] {
            version.pauses(in: environment).map { $0.components.seconds / 3600 }
        }
        #expect(hours(.second, .production) == [1, 12, 24, 48, 72])
        #expect(hours(.first, .production) == [6, 24, 48])
        #expect(hours(.second, .sandbox).isEmpty)
        #expect(hours(.first, .sandbox).isEmpty)
        let version = NotificationTarget.Version.second
        #expect(version.pause(after: 1, in: .production, speed: 36_000) == .milliseconds(100))
        #expect(version.pause(after: 6, in: .production, speed: 1) == nil)
    }

    @Test("The shares of lost, doubled and shuffled notifications are as requested, and the seed chooses them")
    func deliveryFaults() async throws {
        let count = TestSize.pick(debug: 100, release: 300)
        func run() async throws -> (arrived: [String], counts: DeliveryCounts, sent: [String]) {
            let (store, receiver) = (try SharedSimulator.store(customers: 84), try TestServer(reply: .respond()))
            try store.notify(receiver)
            var options = DeliveryOptions()
            (options.lost, options.doubled, options.shuffled) = (0.2, 0.2, 0.2)
            (options.concurrency, options.seed) = (1, 9)
            var sent: [String] = []
            try await store.delivering {
                sent = store.simulate(count, seed: 9, options).flatMap(\.notifications).map(\.uuid)
            }
            let missed =
                try store.notificationItems(onlyFailures: true).count
                + store.notificationItems(onlyFailures: true, in: .sandbox).count
            #expect(missed == store.outbox.counts.lost)
            return (try receiver.payloads().compactMap { $0["notificationUUID"]?.text }, store.outbox.counts, sent)
        }
        let one = try await run()
        let counts = one.counts
        #expect(counts.made == one.sent.count)
        #expect(counts.delivered == counts.made - counts.lost)
        #expect((count / 10...count * 3 / 10).contains(counts.lost))
        #expect((count / 15...count * 4 / 15).contains(counts.copies))
        #expect(one.arrived.count == counts.delivered + counts.copies)
        #expect(Set(one.arrived).count == counts.delivered)
        #expect(Set(one.arrived).isSubset(of: one.sent))
        let inOrder = one.sent.filter(Set(one.arrived).contains)
        #expect(inOrder != one.arrived)
        #expect(try await run().arrived == one.arrived)
    }

    @Test(
        "A notification URL is accepted only if it is plain HTTP to the loopback interface",
        arguments: [
            "https://127.0.0.1/", "http://example.com/", "http://127.0.0.1.example.com/", "http://10.0.0.1/",
            "http://user@127.0.0.1/", "http://127.0.0.1:0/", "http://127.0.0.1:x/", "ftp://127.0.0.1/", "127.0.0.1", "",
        ])
    func addresses(text: String) {
        #expect(NotificationTarget(text) == nil)
        for good in ["http://127.0.0.1", "http://localhost:9000/x?y", "http://[::1]:80/", "http://127.8.9.1:1/"] {
            #expect(NotificationTarget(good)?.text == good)
        }
    }

    @Test("Each environment has its own target, and an environment without a target receives nothing")
    func environments() async throws {
        let (store, receiver) = (try SharedSimulator.store(customers: 40), try TestServer(reply: .respond()))
        try store.notify(receiver, in: .sandbox)
        #expect(try store.code("v1/notifications/test", method: "POST") == 4_040_007)
        try await store.delivering { store.simulate(100, seed: 1) }
        let payloads = try receiver.payloads()
        #expect(!payloads.isEmpty)
        #expect(payloads.allSatisfy { $0["data"]?["environment"]?.text == "Sandbox" })
        #expect(try store.notificationItems().isEmpty)
        store.outbox.targets.removeAll()
        #expect(try store.code("v1/notifications/test", in: .sandbox, method: "POST") == 4_040_007)
    }

    @Test("A test notification has version 2 whatever version the target has, and its status lists the attempts")
    func tests() async throws {
        for version in [NotificationTarget.Version.first, .second] {
            let (store, receiver) = (
                try SharedSimulator.store(customers: 4),
                try TestServer { $0.index == 0 ? .respond(status: 500) : .respond() }
            )
            try store.notify(receiver, version)
            store.outbox.setSpeed(36_000_000)
            let answer = try #require(try store.ask("v1/notifications/test", method: "POST").body)
            let token = try #require(answer["testNotificationToken"]?.text)
            // Not sent yet, because the store does not run.
            #expect(try store.code("v1/notifications/test/\(token)") == 4_040_008)
            try await store.delivering {}
            let payload = try #require(try receiver.payloads().last)
            #expect(payload["notificationType"]?.text == "TEST")
            #expect(keys(payload["data"]) == ["environment", "bundleId", "appAppleId"])
            let status = try #require(try store.ask("v1/notifications/test/\(token)").body)
            #expect(status["firstSendAttemptResult"]?.text == "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
            #expect(status["sendAttempts"]?.elements?.last?["sendAttemptResult"]?.text == "SUCCESS")
            let signed = try decoded(status["signedPayload"])
            #expect(signed["notificationUUID"] == payload["notificationUUID"])
            #expect(try store.notificationItems().isEmpty)
        }
    }
}
