import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import GRDB
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Synchronization
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Forwarder")
struct ForwarderTests {
    private static let period = "700000000000101"

    @Test("A raw target gets the original bytes, every target gets each notification once, and the signature is valid")
    func forms() async throws {
        let secret = Redacted("a secret")
        let bridge = try ForwardingTestProxy([
            ForwardingTestProxy.target(.raw, "raw") { $0.secret = secret }, ForwardingTestProxy.target(.camel, "camel"),
        ])
        let plain = try bridge.bridge.appStore.notification("DID_RENEW", of: Self.period)
        // The same notification with other JSON: whitespace, and an unknown key.
        let text = try #require(
            JSONValue(reading: bridge.bridge.appStore.notification("REFUND", of: Self.period))["signedPayload"]?.text)
        let unusual = Array("{ \"new\": 1,\n\"signedPayload\": \"\(text)\" }".utf8)
        try await bridge.forwarding {
            for body in [plain, unusual, plain, unusual] { try await bridge.bridge.receive(body) }
            #expect(await bridge.settled())
        }
        let raw = bridge.targets.requests(to: ForwardingTestProxy.url("raw"))
        #expect(Set(raw.map(\.body)) == [plain, unusual] && raw.count == 2)
        for post in raw {
            #expect(post.headers["Content-Type"] == "application/json" && post.headers["Receipt-Bridge-Attempt"] == "1")
            let seconds = SharedSimulator.noon.seconds
            let hex = HMAC.hex(Array("\(seconds).".utf8) + post.body, key: Array("a secret".utf8))
            #expect(post.headers["Receipt-Bridge-Signature"] == "t=\(seconds),v1=\(hex)")
        }
        let camel = bridge.targets.requests(to: ForwardingTestProxy.url("camel"))
        #expect(camel.count == 2 && camel.allSatisfy { $0.headers["Receipt-Bridge-Signature"] == nil })
        let renewed = try #require(camel.compactMap(\.json).first { $0["notificationType"]?.text == "DID_RENEW" })
        #expect(renewed["transaction"]?["transactionId"]?.text == Self.period)
        #expect(renewed["renewalInfo"]?["autoRenewStatus"]?.integer == 1 && renewed["status"]?.integer == 1)
        #expect(renewed["verified"]?.flag == true && renewed["bundleId"]?.text == ScriptedCustomer.bundleId)
        #expect(renewed["appAppleId"]?.integer == SimulatedApp.first.appAppleId)
        #expect(renewed["environment"]?.text == "Production" && renewed["subtype"] == nil)
        let delivery = try #require(camel.first { $0.json?["notificationType"]?.text == "DID_RENEW" })
        #expect(delivery.headers["Receipt-Bridge-Delivery"] == renewed["notificationUUID"]?.text)
        #expect(try await bridge.states() == [.delivered: 4])
    }

    @Test("A camel body has the account token of the notification, otherwise the first one of the history")
    func accountToken() async throws {
        let own = "0c1f2a8e-6b37-4f0a-9d0e-3a2b1c4d5e6f"
        let bridge = try ForwardingTestProxy([ForwardingTestProxy.target(.camel)])
        let appStore = bridge.bridge.appStore
        func token() -> String? { bridge.targets.requests.last?.json?["customer"]?["appAccountToken"]?.text }
        try await bridge.forwarding {
            // No transaction has a token; the history is looked up once and stored.
            for count in 1...2 {
                try await bridge.notify("DID_RENEW", of: Self.period)
                #expect(await eventually { bridge.targets.requests.count == count })
                #expect(bridge.targets.requests.last?.json?["customer"] == nil)
                await bridge.bridge.pipelines.finishWriting()
            }
            // The notification's own.
            appStore.change(Self.period) { $0.token = own }
            try await bridge.notify("DID_RENEW", of: Self.period)
            #expect(await eventually { bridge.targets.requests.count == 3 })
            #expect(token() == own)
            #expect(await bridge.settled())
        }
        #expect(appStore.questions.count { $0 == "history" } == 1)
    }

    @Test("A camel body is sent without an account token if the history is not available, and has it when it is")
    func accountTokenLookup() async throws {
        let token = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        let bridge = try ForwardingTestProxy([ForwardingTestProxy.target(.camel)])
        let appStore = bridge.bridge.appStore
        appStore.update { world in
            world.isDown = true
            world.change("700000000000100") { $0.token = token }
        }
        try await bridge.forwarding {
            try await bridge.notify("DID_RENEW", of: Self.period)
            #expect(await eventually { bridge.targets.requests.count == 1 })
            appStore.update { $0.isDown = false }
            try await bridge.notify("REFUND", of: Self.period)
            #expect(await eventually { bridge.targets.requests.count == 2 })
        }
        let bodies = bridge.targets.requests.compactMap(\.json)
        #expect(bodies.map { $0["customer"]?["appAccountToken"]?.text } == [nil, token])
        #expect(bodies.allSatisfy { $0["transaction"]?["appAccountToken"] == nil })
        #expect(try await bridge.states() == [.delivered: 2])
    }

    @Test("HMAC-SHA256 matches the test vectors of RFC 4231")
    func authentication() {
        #expect(
            HMAC.hex(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(HMAC.hex([], key: []) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test(
        "Notifications of unknown types and without a customer are forwarded; received version 1 notifications are not")
    func others() async throws {
        let bridge = try ForwardingTestProxy([
            ForwardingTestProxy.target(.camel), ForwardingTestProxy.target(.v1, "v1"),
        ])
        let hint = JSONValue.object([
            "notification_type": .string("CANCEL"), "bid": .string(ScriptedCustomer.bundleId),
            "password": .string(SimulatedApp.first.sharedSecret),
            "original_transaction_id": .string("700000000000999"),
        ])
        let foreign = try bridge.bridge.appStore.notification(
            "SOMETHING_NEW", of: Self.period, .init(nestedBundleId: "com.example.other"))
        let summary = JSONValue.object([
            "notificationType": .string("RENEWAL_EXTENSION"), "subtype": .string("SUMMARY"),
            "notificationUUID": .string("a summary"), "signedDate": .number(SharedSimulator.noon.milliseconds),
            "summary": .object([
                "bundleId": .string(ScriptedCustomer.bundleId), "environment": .string("Production"),
                "appAppleId": .number(SimulatedApp.first.appAppleId), "succeededCount": .number(5), "new": .number(1),
            ]),
        ])
        try await bridge.forwarding {
            try await bridge.bridge.receive(hint.bytes)
            try await bridge.bridge.receive(foreign)
            try await bridge.notify("TEST")
            try await bridge.bridge.receive(
                ScriptedCustomer.body(try MintedReceipts.pki.jwsSigner.jws(payload: summary)))
            #expect(await bridge.settled())
        }
        let events = bridge.targets.requests(to: ForwardingTestProxy.url()).compactMap(\.json)
        #expect(events.count == 3 && bridge.targets.requests.count == 3)
        // The nested transaction is of another app, so it is left out.
        let unknown = try #require(events.first { $0["notificationType"]?.text == "SOMETHING_NEW" })
        #expect(unknown["transaction"] == nil && unknown["renewalInfo"] != nil)
        let extended = try #require(events.first { $0["subtype"]?.text == "SUMMARY" })
        #expect(extended["summary"]?["succeededCount"]?.integer == 5 && extended["summary"]?["new"]?.integer == 1)
        let post = bridge.targets.requests.first { $0.json?["subtype"] != nil }
        #expect(post?.headers["Receipt-Bridge-Delivery"]?.hasPrefix("sha256:") == true)
        #expect(try await bridge.states() == [.delivered: 3, .skipped: 3])
    }

    @Test("Deliveries are sent by the next process if one ends between storing and sending")
    func restart() async throws {
        let targets = [try ForwardingTestProxy.target(.raw)]
        let first = try ForwardingTestProxy(targets)
        let body = try first.bridge.appStore.notification("DID_RENEW", of: Self.period)
        try await first.bridge.receive(body)
        // The first proxy sent nothing and was not shut down.
        let second = try ForwardingTestProxy(targets, appStore: first.bridge.appStore, folder: first.bridge.folder)
        try await second.forwarding { #expect(await second.settled()) }
        #expect(first.targets.requests.isEmpty && second.targets.requests.map(\.body) == [body])
        // A delivery that is in flight at shutdown is sent again.
        second.targets.answer { _ in
            try? await Task.sleep(for: .seconds(60))
            return .failure(.timedOut)
        }
        let other = try first.bridge.appStore.notification("REFUND", of: Self.period)
        try await second.forwarding {
            try await second.bridge.receive(other)
            #expect(await eventually { second.targets.requests.count == 2 })
        }
        #expect(try await second.states() == [.delivered: 1, .waiting: 1])
        second.targets.answer { _ in 204 }
        try await second.forwarding { #expect(await second.settled()) }
        #expect(second.targets.requests.map(\.body) == [body, other, other])
        #expect(second.targets.requests.last?.headers["Receipt-Bridge-Attempt"] == "1")
    }

    @Test("A target that does not respond does not delay others, and has at most four concurrent deliveries")
    func slow() async throws {
        let bridge = try ForwardingTestProxy([
            ForwardingTestProxy.target(.raw, "slow"), ForwardingTestProxy.target(.raw, "quick"),
        ])
        let open = Mutex(false)
        bridge.targets.answer { post in
            while post.url.hasSuffix("slow"), !open.withLock({ $0 }), !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(5))
            }
            return 200
        }
        try await bridge.forwarding {
            for _ in 0..<12 { try await bridge.notify("TEST") }
            #expect(await eventually { bridge.targets.requests(to: ForwardingTestProxy.url("quick")).count == 12 })
            #expect(bridge.targets.requests(to: ForwardingTestProxy.url("slow")).count <= 4)
            open.withLock { $0 = true }
            #expect(await bridge.settled())
        }
        #expect(bridge.targets.requests.count == 24)
    }

    @Test("A target that responds slowly gets more and more deliveries at once, up to the maximum", arguments: [3, 24])
    func adaptive(maximum: Int) async throws {
        let bridge = try ForwardingTestProxy([ForwardingTestProxy.target(.raw) { $0.concurrency = maximum }])
        let counts = Mutex((inFlight: 0, most: 0))
        bridge.targets.answer { _ in
            counts.withLock { counts in
                counts.inFlight += 1
                counts.most = max(counts.most, counts.inFlight)
            }
            try? await Task.sleep(for: .milliseconds(30))
            counts.withLock { $0.inFlight -= 1 }
            return 200
        }
        for _ in 0..<150 { try await bridge.notify("TEST") }
        try await bridge.forwarding { #expect(await bridge.settled()) }
        let most = counts.withLock(\.most)
        #expect(most <= maximum && (maximum < 4 || most > 4), "\(most)")
        #expect(bridge.targets.requests.count == 150)
    }

    @Test("A delivery that takes longer than a lease is not taken over, because the lease is renewed")
    func renewal() async throws {
        let (first, second) = try pair()
        let open = Mutex(false)
        first.targets.answer { _ in
            while !open.withLock({ $0 }), !Task.isCancelled { try? await Task.sleep(for: .milliseconds(2)) }
            return 200
        }
        try await first.notify("TEST")
        try await first.forwarding {
            #expect(await eventually { first.targets.requests.count == 1 })
            try await second.forwarding {
                for _ in 0..<3 {
                    let now = first.bridge.now.advanced(by: DeliveryLease.length / 2)
                    (first.bridge.now, second.bridge.now) = (now, now)
                    let end = now.advanced(by: DeliveryLease.length)
                    #expect(await eventually { (try? await leaseEnds(first)) == [end.milliseconds] })
                }
                open.withLock { $0 = true }
                #expect(await first.settled())
            }
        }
        #expect(first.targets.requests.count == 1 && second.targets.requests.isEmpty)
    }

    @Test("A server that was suspended begins nothing whose lease has ended, and changes no outcome of another one")
    func suspended() async throws {
        let (first, second) = try pair { $0.concurrency = 1 }
        let open = Mutex(false)
        first.targets.answer { _ in
            while !open.withLock({ $0 }), !Task.isCancelled { try? await Task.sleep(for: .milliseconds(2)) }
            return 500
        }
        for _ in 0..<3 { try await first.notify("TEST") }
        // Its renewals are as good as suspended.
        try await first.forwarding(renewal: .seconds(60)) {
            #expect(await eventually { first.targets.requests.count == 1 })
            #expect(await eventually { (try? await leaseEnds(first).count) == 3 })
            try await second.forwarding {
                // Twice, because after a pause of the length of a lease nothing is taken over.
                for _ in 0..<2 {
                    #expect(second.targets.requests.isEmpty)
                    second.bridge.now = second.bridge.now.advanced(by: DeliveryLease.length / 2)
                    try await Task.sleep(for: .milliseconds(30))  // Six polls.
                }
                #expect(await second.settled())
            }
            first.bridge.now = second.bridge.now
            open.withLock { $0 = true }
            try await Task.sleep(for: .milliseconds(30))  // Six polls.
        }
        // Only what was in flight was sent twice.
        #expect(first.targets.requests.count == 1 && second.targets.requests.count == 3)
        #expect(try await first.states() == [.delivered: 3])
        #expect(try await first.bridge.store.deliveries().map(\.lastFailure) == [nil, nil, nil])
    }

    @Test("After a pause of all servers, nothing is taken over until their workers can have renewed their leases")
    func pause() async throws {
        let (first, second) = try pair()
        first.targets.answer { _ in
            while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(2)) }
            return .failure(.timedOut)
        }
        try await first.notify("TEST")
        try await first.forwarding(renewal: .seconds(60)) {
            #expect(await eventually { first.targets.requests.count == 1 })
            try await second.forwarding {
                second.bridge.now = second.bridge.now.advanced(by: DeliveryLease.length)
                try await Task.sleep(for: .milliseconds(30))  // Six polls.
                #expect(second.targets.requests.isEmpty)
                // On a busy machine a worker can see two steps as one pause of the length of a lease, and waits again.
                for _ in 0..<20 where second.targets.requests.isEmpty {
                    second.bridge.now = second.bridge.now.advanced(by: DeliveryLease.length / 2)
                    for _ in 0..<100 where second.targets.requests.isEmpty {
                        try await Task.sleep(for: .milliseconds(10))
                    }
                }
                #expect(second.targets.requests.count == 1)
            }
        }
    }

    /// Two proxies with one store.
    private func pair(
        _ change: (inout ForwardTarget) -> Void = { _ in }
    ) throws -> (ForwardingTestProxy, ForwardingTestProxy) {
        let targets = [try ForwardingTestProxy.target(.raw, change: change)]
        let first = try ForwardingTestProxy(targets)
        return (first, try ForwardingTestProxy(targets, appStore: first.bridge.appStore, folder: first.bridge.folder))
    }

    /// Returns the ends of all leases, in milliseconds.
    private func leaseEnds(_ bridge: ForwardingTestProxy) async throws -> [Int64] {
        try await DatabaseQueue(path: bridge.bridge.store.path).read {
            try Int64.fetchAll($0, sql: "SELECT leasedUntil FROM delivery WHERE leasedUntil IS NOT NULL")
        }
    }

    @Test("Notifications about one purchase are delivered in order")
    func order() async throws {
        let bridge = try ForwardingTestProxy([ForwardingTestProxy.target(.camel)])
        for _ in 0..<6 {
            for id in [Self.period, "700000000000500"] {
                try await bridge.notify("REFUND", of: id)
            }
        }
        bridge.targets.answer { post in
            try? await Task.sleep(for: .milliseconds(post.body.count % 7))
            return 200
        }
        try await bridge.forwarding { #expect(await bridge.settled()) }
        for id in [Self.period, "700000000000500"] {
            let dates = bridge.targets.requests.compactMap(\.json)
                .filter { $0["transaction"]?["transactionId"]?.text == id }.compactMap { $0["signedDate"]?.integer }
            #expect(dates.count == 6 && dates == dates.sorted())
        }
    }

    @Test(
        "A failing delivery is retried with increasing pauses, given up after three days, and sent again by a replay",
        arguments: [
            (500, "http.500"), (302, "http.302"), (404, "http.404"), (.failure(.timedOut), "transport.timedOut"),
        ] as [(ScriptedAppStore.Reply, String)])
    func failing(reply: ScriptedAppStore.Reply, code: String) async throws {
        let bridge = try ForwardingTestProxy([
            ForwardingTestProxy.target(.raw), ForwardingTestProxy.target(.camel, "b"),
        ])
        bridge.targets.answer { $0.url == ForwardingTestProxy.url() ? reply : 200 }
        let store = bridge.bridge.store
        try await bridge.notify("TEST", nil, of: nil, .init(uuid: "u"))
        var pauses: [Int64] = []
        try await bridge.forwarding {
            for attempt in 1...12 {
                #expect(await eventually { bridge.targets.requests(to: ForwardingTestProxy.url()).count == attempt })
                #expect(
                    await eventually {
                        (try? await store.deliveries().first { $0.targetKey.form == "raw" }?.attempts) == attempt
                    })
                let delivery = try #require(try await store.deliveries().first { $0.targetKey.form == "raw" })
                #expect(delivery.lastFailure == code)
                guard let next = delivery.nextAttempt else { break }
                pauses.append((next.milliseconds - bridge.bridge.now.milliseconds) / 1_000)
                // One millisecond before the time of the next attempt, nothing is sent.
                bridge.bridge.now = next.advanced(by: .milliseconds(-1))
                try await Task.sleep(for: .milliseconds(20))  // Four polls.
                #expect(bridge.targets.requests(to: ForwardingTestProxy.url()).count == attempt)
                bridge.bridge.now = next
            }
            #expect(pauses == [10, 60, 300, 1_800, 7_200, 21_600] + [Int64](repeating: 43_200, count: 5))
            #expect(try await bridge.states() == [.abandoned: 1, .delivered: 1])
            #expect(try await store.deliveries(in: .abandoned).map(\.uuid) == ["u"])
            bridge.bridge.now = bridge.bridge.now.advanced(by: .days(90))
            try await Task.sleep(for: .milliseconds(20))
            #expect(bridge.targets.requests(to: ForwardingTestProxy.url()).count == 12)
            // The target works again.
            bridge.targets.answer { _ in 200 }
            #expect(try await store.replay(.allDead, to: "https://nobody.example/", at: bridge.bridge.now).isEmpty)
            #expect(try await store.replay(.allDead, to: nil, at: bridge.bridge.now).map(\.uuid) == ["u"])
            #expect(await bridge.settled())
            #expect(try await bridge.states() == [.delivered: 2])
            // A delivered notification is sent again if a replay names it.
            let again = try await store.replay(
                .notification(uuid: "u"), to: ForwardingTestProxy.url("b"), at: bridge.bridge.now)
            #expect(again.map(\.targetKey.url) == [ForwardingTestProxy.url("b")])
            #expect(await eventually { bridge.targets.requests(to: ForwardingTestProxy.url("b")).count == 2 })
            #expect(try await store.replay(.notification(uuid: "nobody"), to: nil, at: bridge.bridge.now).isEmpty)
            #expect(await bridge.settled())
        }
        let attempts = bridge.targets.requests(to: ForwardingTestProxy.url()).compactMap {
            $0.headers["Receipt-Bridge-Attempt"]
        }
        #expect(attempts == (1...12).map(String.init) + ["1"])
    }

    @Test("A delivery whose notification is damaged in the store is given up and blocks no other")
    func damaged() async throws {
        let bridge = try ForwardingTestProxy([ForwardingTestProxy.target(.raw)])
        for uuid in ["damaged", "whole"] {
            try await bridge.notify("TEST", nil, of: nil, .init(uuid: uuid))
        }
        try await DatabaseQueue(path: bridge.bridge.store.path).write {
            try $0.execute(sql: "UPDATE notification SET text = x'01' WHERE uuid = 'damaged'")
        }
        try await bridge.forwarding(schedule: DeliverySchedule(maximumAttempts: 1)) {
            #expect(await bridge.settled())
        }
        #expect(try await bridge.states() == [.abandoned: 1, .delivered: 1])
        let dead = try await bridge.bridge.store.deliveries(in: .abandoned)
        #expect(dead.map(\.uuid) == ["damaged"] && dead.map(\.lastFailure) == ["store.damaged"])
    }

    @Test("A notification that could not be stored is not forwarded, and is forwarded once when it is received again")
    func diskFull() async throws {
        let targets = [try ForwardingTestProxy.target(.raw)]
        let pages = try await StoringTestProxy.pagesOfEmptyStore()
        let bridge = try ForwardingTestProxy(targets, maximumPages: pages + 16)
        var bodies: [[UInt8]] = []
        for _ in 0..<60 {
            bodies.append(try bridge.bridge.appStore.notification("DID_RENEW", of: Self.period))
        }
        var accepted: [[UInt8]] = []
        for body in bodies where await bridge.bridge.refusal(body) == nil { accepted.append(body) }
        #expect((1..<60).contains(accepted.count))
        #expect(try await bridge.states() == [.waiting: accepted.count])
        await bridge.bridge.store.close()
        let later = try ForwardingTestProxy(targets, appStore: bridge.bridge.appStore, folder: bridge.bridge.folder)
        try await later.forwarding {
            #expect(await later.settled())
            #expect(
                Set(later.targets.requests.map(\.body)) == Set(accepted)
                    && later.targets.requests.count == accepted.count)
            for body in bodies { #expect(await later.bridge.refusal(body) == nil) }
            #expect(await later.settled())
        }
        #expect(Set(later.targets.requests.map(\.body)) == Set(bodies) && later.targets.requests.count == 60)
    }
}
