import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Stored responses")
struct StoredAnswerTests {
    typealias Twist = ScriptedCustomer.Twist

    /// A change of the customer's history, and the notification about it.
    struct Event: Sendable, CustomTestStringConvertible {
        let name: String
        let type: String
        var subtype: String?
        var id = "700000000000101"
        /// Whether the payload does not contain the whole change, so that the next request does a lookup.
        var needsLookup = false
        let happen: @Sendable (inout ScriptedCustomer.World) -> Void

        var testDescription: String { name }
    }

    private static let end = SharedSimulator.noon.advanced(by: .milliseconds(ScriptedCustomer.month / 2))

    static let events: [Event] = [
        Event(name: "renewal that begins in the future", type: "DID_RENEW", id: "700000000000102") { world in
            world.purchases.append(
                .period("700000000000102", from: end, to: end.advanced(by: .milliseconds(ScriptedCustomer.month))))
        },
        Event(name: "refund of the period", type: "REFUND") { world in
            world.change("700000000000101") { $0.revoked = SharedSimulator.noon }
            world.change { ($0.status, $0.renews) = (5, 0) }
        },
        Event(name: "refund of an old period", type: "REFUND", id: "700000000000100") { world in
            world.change("700000000000100") { $0.revoked = SharedSimulator.noon }
        },
        Event(name: "refund of a feature", type: "REFUND", id: "700000000000500") { world in
            world.change("700000000000500") { $0.revoked = SharedSimulator.noon }
        },
        Event(name: "family access lost", type: "REVOKE") { world in
            world.change("700000000000101") { $0.revoked = SharedSimulator.noon }
            world.change { $0.status = 5 }
        },
        Event(name: "renewal switched off", type: "DID_CHANGE_RENEWAL_STATUS", subtype: "AUTO_RENEW_DISABLED") {
            $0.change { $0.renews = 0 }
        },
        Event(name: "grace period", type: "DID_FAIL_TO_RENEW", subtype: "GRACE_PERIOD") { world in
            world.change("700000000000101") { $0.expires = SharedSimulator.noon.advanced(by: .minutes(-1)) }
            world.change {
                ($0.status, $0.retries) = (4, true)
                $0.grace = SharedSimulator.noon.advanced(by: .days(6))
            }
        },
        Event(name: "billing retry", type: "DID_FAIL_TO_RENEW") { world in
            world.change("700000000000101") { $0.expires = SharedSimulator.noon.advanced(by: .minutes(-1)) }
            world.change { ($0.status, $0.retries, $0.intent) = (3, true, 2) }
        },
        Event(name: "end", type: "EXPIRED", subtype: "VOLUNTARY") { world in
            world.change("700000000000101") { $0.expires = SharedSimulator.noon.advanced(by: .minutes(-1)) }
            world.change { ($0.status, $0.renews, $0.intent) = (2, 0, 1) }
        },
        Event(name: "extension", type: "RENEWAL_EXTENDED") { world in
            world.change("700000000000101") { $0.expires = end.advanced(by: .days(5)) }
        },
        Event(name: "downgrade at the next renewal", type: "DID_CHANGE_RENEWAL_PREF", subtype: "DOWNGRADE") {
            $0.change { $0.nextProduct = "com.example.app.small" }
        },
        Event(name: "purchase of a feature", type: "ONE_TIME_CHARGE", id: "700000000000600") { world in
            world.purchases.append(.single("700000000000600"))
        },
        Event(
            name: "upgrade", type: "DID_CHANGE_RENEWAL_PREF", subtype: "UPGRADE", id: "700000000000103",
            needsLookup: true
        ) { world in
            world.change("700000000000101") { $0.isUpgraded = true }
            world.purchases.append(
                .init(
                    id: "700000000000103", product: "com.example.app.yearly", purchased: SharedSimulator.noon,
                    expires: end.advanced(by: .milliseconds(ScriptedCustomer.month))))
            world.change { ($0.product, $0.nextProduct) = ("com.example.app.yearly", "com.example.app.yearly") }
        },
        Event(name: "another subscription", type: "SUBSCRIBED", id: "700000000000700", needsLookup: true) { world in
            world.purchases.append(
                .init(
                    id: "700000000000700", original: "700000000000700", product: "com.example.app.other",
                    purchased: SharedSimulator.noon, expires: end, group: "21000002"))
            world.subscriptions.insert(
                .init(original: "700000000000700", product: "com.example.app.other", group: "21000002"), at: 0)
        },
    ]

    // T29
    @Test("After each event, the stored response equals that of the Server API", arguments: events)
    func afterEach(event: Event) async throws {
        let bridge = try StoringTestProxy()
        let receipt = try bridge.appStore.receipt()
        #expect(await bridge.ask(receipt).source == .api)
        #expect(await bridge.waitUntilStored(receipt))
        let before = await bridge.ask(receipt).body
        #expect(await bridge.askAPI(receipt).body == before)
        let requestCount = bridge.appStore.questions.count
        bridge.appStore.update { event.happen(&$0) }
        let body = try bridge.appStore.notification(event.type, event.subtype, of: event.id)
        #expect(try await bridge.receive(body) == .stored(isNew: true))
        #expect(bridge.appStore.questions.count == requestCount)
        let after = await bridge.ask(receipt)
        #expect(after.source == (event.needsLookup ? .api : .stored))
        let fresh = await bridge.askAPI(receipt)
        #expect(after.body == fresh.body && fresh.status == 0)
        #expect(after.body != before)
        if event.needsLookup { #expect(await bridge.waitUntilStored(receipt)) }
        #expect(await bridge.ask(receipt).body == fresh.body)
    }

    @Test("For a minute, stored responses are rendered from what a lookup returned, without a read of the store")
    func atHand() async throws {
        let bridge = try StoringTestProxy()
        let receipt = try bridge.appStore.receipt()
        #expect(await bridge.ask(receipt).source == .api)
        await bridge.pipelines.finishWriting()
        await bridge.store.close()
        var answers: [String] = []
        for seconds: Int64 in [0, 59, 60] {
            let count = bridge.appStore.questions.count
            bridge.now = SharedSimulator.noon.advanced(by: .seconds(seconds))
            answers.append("\(await bridge.ask(receipt).source) \(bridge.appStore.questions.count - count)")
        }
        #expect(answers == ["stored 0", "stored 0", "api 2"])
    }

    @Test("A lookup that is in flight during a refund is not cached")
    func inFlight() async throws {
        let bridge = try StoringTestProxy([.api])
        let receipt = try bridge.appStore.receipt()
        bridge.appStore.update { world in
            world.meanwhile = {
                bridge.appStore.change("700000000000500") { $0.revoked = SharedSimulator.noon }
                let refund = try? bridge.appStore.notification("REFUND", of: "700000000000500")
                #expect(await bridge.refusal(refund ?? []) == nil)
            }
        }
        // The lookup was sent before the refund.
        #expect(await bridge.ask(receipt).body.contains("cancellation_date") == false)
        let bare = Question.body(receipt)
        let alone = await bridge.pipelines.verifyReceipt.answer(body: bare, route: .auto, sources: [.receipt])
        #expect(String(decoding: alone.answer.body, as: UTF8.self).contains("cancellation_date"))
        let next = await bridge.ask(receipt)
        #expect(next.source == .api && next.body.contains("cancellation_date"))
        let isStored = await eventually {
            let stored = await bridge.pipelines.verifyReceipt.answer(body: bare, route: .auto, sources: [.stored])
            return stored.answer.body == Array(next.body.utf8)
        }
        #expect(isStored)
    }

    @Test("A receipt with a purchase that is not stored is left to the next source")
    func unknown() async throws {
        let bridge = try StoringTestProxy([.stored])
        let receipt = try bridge.appStore.receipt()
        #expect(await bridge.ask(receipt).status == 21005)
        let learner = try StoringTestProxy(appStore: bridge.appStore)
        #expect(await learner.waitUntilStored(receipt))
        bridge.appStore.update { world in
            world.purchases.append(.period("700000000000102", from: Self.end, to: Self.end.advanced(by: .seconds(1))))
        }
        #expect(await learner.ask(try bridge.appStore.receipt(of: 4)).source == .api)
    }

    @Test("A repeated request gives the same response, with the new request date")
    func again() async throws {
        let (bridge, receipt) = try await StoringTestProxy.withRecords([.stored, .api])
        for milliseconds in [0, 1, 1_001, 59_000, 61_000, 3_600_000] as [Int64] {
            bridge.now = SharedSimulator.noon.advanced(by: .milliseconds(milliseconds))
            for _ in 0..<2 {
                let reply = await bridge.ask(receipt)
                #expect(reply.source == .stored)
                #expect(reply.body == (await bridge.askAPI(receipt)).body, "\(milliseconds)")
            }
        }
        // From the third time on, it would be answered from memory if the password did not count.
        for _ in 0..<3 { #expect(await bridge.ask(receipt, password: "another").status == 21004) }
    }

    /// As after a commit whose outcome was unknown: the refund is stored, and the server answered with an error.
    @Test("A refund that is stored but not in memory is in memory after its notification is repeated")
    func repeatedRefund() async throws {
        let bridge = try StoringTestProxy([.receipt])
        let receipt = try bridge.appStore.receipt()
        #expect(await bridge.ask(receipt).status == 0)
        bridge.appStore.change("700000000000500") { $0.revoked = SharedSimulator.noon }
        let notification = try bridge.appStore.notification("REFUND", of: "700000000000500")
        let other = try StoringTestProxy([.receipt], appStore: bridge.appStore, folder: bridge.folder)
        #expect(try await other.receive(notification) == .stored(isNew: true))
        #expect(await !bridge.ask(receipt).body.contains("cancellation_date"))
        #expect(try await bridge.receive(notification) == .repeated)
        #expect(await bridge.ask(receipt).body.contains("cancellation_date"))
    }

    @Test("Stored records older than storedMaxAge are used only as a fallback, and only if they cannot be stale")
    func age() async throws {
        let appStore = ScriptedCustomer()
        let bridge = try StoringTestProxy([.stored, .api], appStore: appStore) { $0.storedMaxAge = 3_600 }
        let receipt = try appStore.receipt()
        #expect(await bridge.waitUntilStored(receipt))
        bridge.now = SharedSimulator.noon.advanced(by: .minutes(59))
        #expect(await bridge.ask(receipt).source == .stored)
        bridge.now = SharedSimulator.noon.advanced(by: .seconds(3601))
        appStore.update { $0.isDown = true }
        #expect(await bridge.ask(receipt).status == 21005)
        let fallback = try StoringTestProxy([.api, .stored], appStore: appStore, folder: bridge.folder)
        fallback.now = bridge.now
        let last = await fallback.ask(receipt)
        #expect(last.source == .stored && last.status == 0)
        fallback.now = Self.end.advanced(by: .seconds(1))
        #expect(await fallback.ask(receipt).status == 21005)
        let lenient = try StoringTestProxy([.api, .stored], appStore: appStore, folder: bridge.folder) {
            $0.staleSubscription = .answer
        }
        lenient.now = fallback.now
        #expect(await lenient.ask(receipt).source == .stored)
    }

    @Test("A reversed refund that verifyReceipt reported stays reversed, also after a restart")
    func reversal() async throws {
        let appStore = ScriptedCustomer()
        let receipt = try appStore.receipt()
        let id = "700000000000500"
        appStore.change(id) { $0.revoked = SharedSimulator.noon }
        let first = try StoringTestProxy(appStore: appStore)
        #expect(await first.waitUntilStored(receipt))
        #expect(await first.ask(receipt).body.contains("cancellation_date"))
        let bridge = try StoringTestProxy([.apple, .stored, .receipt], appStore: appStore, folder: first.folder)
        #expect(await bridge.ask(receipt).source == .stored)
        let row = #"{"transaction_id":"\#(id)","original_transaction_id":"\#(id)"}"#
        // A response to an earlier request would not count over the signed refund.
        bridge.now = SharedSimulator.noon.advanced(by: .minutes(6))
        appStore.update { $0.verifyReceipt = #"{"status":0,"receipt":{},"latest_receipt_info":[\#(row)]}"# }
        #expect(await bridge.ask(receipt).source == .apple)
        appStore.update { $0.verifyReceipt = nil }
        let reply = await bridge.ask(receipt)
        #expect(reply.status == 0 && !reply.body.contains("cancellation_date"), "\(reply.source)")
        appStore.update { world in
            world.clock = SharedSimulator.noon.advanced(by: .seconds(5))
            world.change(id) { $0.revoked = nil }
        }
        await bridge.pipelines.finishWriting()
        appStore.update { $0.isDown = true }
        let outage = try StoringTestProxy([.api, .stored, .receipt], appStore: appStore, folder: first.folder)
        for _ in 0..<2 {
            let last = await outage.ask(receipt)
            #expect(last.status == 0 && !last.body.contains("cancellation_date"), "\(last.source)")
        }
        appStore.update { $0.isDown = false }
        let next = try StoringTestProxy(appStore: appStore, folder: first.folder)
        #expect(await next.ask(receipt).source == .api)
        #expect(await next.waitUntilStored(receipt))
        #expect(await !next.ask(receipt).body.contains("cancellation_date"))
    }

    @Test("A denial is confirmed by Apple after five seconds, and stands if Apple does not answer")
    func denials() async throws {
        for order in [[.stored, .api, .receipt], [.stored, .receipt], [.stored]] as [[AnswerSource]] {
            let bridge = try StoringTestProxy(order)
            let receipt = try bridge.appStore.receipt()
            bridge.appStore.update { world in
                world.change("700000000000101") { $0.expires = SharedSimulator.noon.advanced(by: .days(-1)) }
                world.change { ($0.status, $0.renews, $0.intent) = (2, 0, 1) }
            }
            let learner = try StoringTestProxy([.api], appStore: bridge.appStore, folder: bridge.folder)
            #expect(await learner.ask(receipt).source == .api)
            await learner.pipelines.finishWriting()
            func ask(after seconds: Int64) async -> String {
                let count = bridge.appStore.questions.count
                bridge.now = SharedSimulator.noon.advanced(by: .seconds(seconds))
                let reply = await bridge.ask(receipt)
                let isActive = reply.body.contains("700000000000102")
                return "\(reply.source) \(isActive) \(bridge.appStore.questions.count - count)"
            }
            #expect(await ask(after: 4) == "stored false 0", "\(order)")
            // Confirmed by the statuses alone, for five more seconds.
            #expect(await ask(after: 5) == "stored false 1", "\(order)")
            #expect(await ask(after: 9) == "stored false 0", "\(order)")
            bridge.appStore.update { $0.isDown = true }
            // The last records are better than nothing, and than the receipt, which is older.
            #expect(await ask(after: 10).hasPrefix("stored false"), "\(order)")
            // The notification about this subscription was lost.
            bridge.appStore.update { world in
                world.isDown = false
                world.purchases.append(.period("700000000000102", to: SharedSimulator.noon.advanced(by: .days(30))))
                world.change { ($0.status, $0.renews, $0.intent) = (1, 1, nil) }
                world.clock = SharedSimulator.noon.advanced(by: .seconds(20))
            }
            #expect(await ask(after: 20) == "api true 3", "\(order)")
            await bridge.pipelines.finishWriting()
            #expect(await ask(after: 60) == "stored true 0", "\(order)")
        }
    }

    @Test("A notification during a confirmation counts: the customer is looked up")
    func confirmationInFlight() async throws {
        let bridge = try StoringTestProxy([.stored, .api])
        let receipt = try bridge.appStore.receipt()
        bridge.appStore.update { world in
            world.change("700000000000101") { $0.expires = SharedSimulator.noon.advanced(by: .days(-1)) }
            world.change { ($0.status, $0.renews, $0.intent) = (2, 0, 1) }
        }
        #expect(await bridge.ask(receipt).source == .api)
        await bridge.pipelines.finishWriting()
        bridge.now = SharedSimulator.noon.advanced(by: .seconds(10))
        let appStore = bridge.appStore
        appStore.update { world in
            world.meanwhileStatuses = {
                appStore.update { world in
                    world.purchases.append(.single("700000000000600"))
                    world.clock = SharedSimulator.noon.advanced(by: .seconds(10))
                }
                let bought = try? appStore.notification("ONE_TIME_CHARGE", of: "700000000000600")
                #expect(await bridge.refusal(bought ?? []) == nil)
            }
        }
        let reply = await bridge.ask(receipt)
        #expect(reply.body.contains("700000000000600"), "\(reply)")
    }

    @Test("A purchase that is notified between the history and the statuses of a lookup is the customer's")
    func purchaseBeforeStatuses() async throws {
        let bridge = try StoringTestProxy()
        let appStore = bridge.appStore
        @Sendable func tick(_ seconds: Int64, _ edit: @Sendable (inout ScriptedCustomer.World) -> Void = { _ in }) {
            appStore.update { world in
                edit(&world)
                world.clock = SharedSimulator.noon.advanced(by: .seconds(seconds))
            }
        }
        tick(0) { world in
            // The statuses are asked for after the history, because the first id is not that of a subscription.
            world.change("700000000000500") { $0.purchased = SharedSimulator.noon.advanced(by: .days(-90)) }
            world.meanwhile = {
                tick(1) { world in
                    world.purchases.append(.single("700000000000600"))
                }
                let bought = try? appStore.notification("ONE_TIME_CHARGE", of: "700000000000600")
                #expect(await bridge.refusal(bought ?? []) == nil)
                tick(2)
            }
        }
        let receipt = try appStore.receipt(of: 1)
        #expect(await bridge.ask(receipt).source == .api)
        await bridge.pipelines.finishWriting()
        let count = appStore.questions.count
        let reply = await bridge.ask(receipt)
        #expect(reply.body.contains("700000000000600"), "\(reply)")
        #expect(appStore.questions.count > count)
    }

    @Test(
        "A lookup that takes longer than the request continues, and the next request is answered from it",
        arguments: [nil, 1])
    func slowLookup(firstPage: Int?) async throws {
        let bridge = try StoringTestProxy([.stored, .api, .receipt], deadline: .milliseconds(600))
        let receipt = try bridge.appStore.receipt()
        let mayAnswer = Mutex(false)
        bridge.appStore.update { world in
            world.firstPage = firstPage
            world.meanwhile = { _ = await eventually { mayAnswer.withLock { $0 } } }
        }
        #expect(await bridge.ask(receipt).source == .receipt)
        mayAnswer.withLock { $0 = true }
        let count = bridge.appStore.questions.count
        #expect(await eventually { await bridge.ask(receipt).source == .stored })
        // One history and its statuses, which the first request asked for.
        let pages = Array(repeating: "history", count: firstPage == nil ? 1 : 2)
        #expect(bridge.appStore.questions.sorted() == pages + ["statuses"], "\(count)")
    }

    @Test("While the pages of a history arrive, the receipt, which may lack what they say, does not answer")
    func slowPages() async throws {
        let bridge = try StoringTestProxy([.stored, .api, .receipt], deadline: .milliseconds(1_600))
        let receipt = try bridge.appStore.receipt()
        bridge.appStore.update { ($0.firstPage, $0.pageTime) = (1, .seconds(1)) }
        let first = await bridge.ask(receipt)
        #expect(first.source == .api && first.status == 21005)
        #expect(await eventually { await bridge.ask(receipt).source == .stored })
        #expect(bridge.appStore.questions.sorted() == ["history", "history", "statuses"])
    }

    @Test("A refund that is notified while verifyReceipt is asked stays, in memory and in the store")
    func refundInFlight() async throws {
        let appStore = ScriptedCustomer()
        let bridge = try StoringTestProxy([.apple, .receipt], appStore: appStore)
        let receipt = try appStore.receipt()
        let id = "700000000000500"
        let row = #"{"transaction_id":"\#(id)","original_transaction_id":"\#(id)"}"#
        appStore.update { world in
            world.verifyReceipt = #"{"status":0,"receipt":{},"latest_receipt_info":[\#(row)]}"#
            world.meanwhile = {
                appStore.change(id) { $0.revoked = SharedSimulator.noon }
                let refund = try? appStore.notification("REFUND", of: id)
                #expect(await bridge.refusal(refund ?? []) == nil)
            }
        }
        #expect(await bridge.ask(receipt).source == .apple)
        await bridge.pipelines.finishWriting()
        appStore.update { $0.verifyReceipt = nil }
        let alone = await bridge.ask(receipt)
        #expect(alone.source != .apple && alone.body.contains("cancellation_date"))
        let restarted = try StoringTestProxy([.apple, .receipt], appStore: appStore, folder: bridge.folder)
        #expect(await restarted.ask(receipt).body.contains("cancellation_date"))
        let events = try await bridge.store.events(after: 0, upTo: .max, limit: 10)
        #expect(events.allSatisfy { !$0.body.contains("reversedRevocations") })
    }

    @Test("Data from the last request is in the store when that is closed")
    func lastAnswer() async throws {
        let appStore = ScriptedCustomer()
        let receipt = try appStore.receipt()
        let bridge = try StoringTestProxy([.api], appStore: appStore)
        #expect(await bridge.ask(receipt).source == .api)
        await bridge.pipelines.finishWriting()
        await bridge.store.close()
        appStore.update { $0.isDown = true }
        let later = try StoringTestProxy(appStore: appStore, folder: bridge.folder)
        #expect(await later.ask(receipt).source == .stored)
    }

    @Test("If the store cannot be read, the next source is used")
    func unreadable() async throws {
        let bridge = try StoringTestProxy()
        let receipt = try bridge.appStore.receipt()
        await bridge.store.close()
        #expect(await bridge.ask(receipt).source == .api)
    }
}
