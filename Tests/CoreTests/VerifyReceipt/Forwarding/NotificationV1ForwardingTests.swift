import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("Forwarding with `as: v1`")
struct NotificationV1ForwardingTests {
    typealias World = ScriptedCustomer.World

    /// A version 2 notification, the notifications before it, and the types of the expected version 1 bodies.
    struct Case: Sendable, CustomTestStringConvertible {
        let type: String
        var subtype: String?
        var id: String? = "700000000000101"
        var profile = NotificationV1Profile.current
        /// Notifications before this one, each with its `autoRenewStatus`.
        var before: [(type: String, subtype: String?, renews: Int64)] = []
        /// The version 1 types that the notifications before this one gave.
        var sentBefore: [String] = []
        var renews: Int64 = 1
        var change: @Sendable (inout World) -> Void = { _ in }
        let sends: [String]
        var name = ""

        var testDescription: String { "\(type) \(subtype ?? "-") \(name)" }
    }

    private static let (status, pref, again) = (
        "DID_CHANGE_RENEWAL_STATUS", "DID_CHANGE_RENEWAL_PREF", "INTERACTIVE_RENEWAL"
    )
    private static let month = "com.example.app.monthly"

    private static func consumable(_ world: inout World) {
        world.purchases.append(
            .init(
                id: "700000000000900", original: "700000000000900", product: "com.example.app.coins",
                type: "Consumable",
                purchased: SharedSimulator.noon.advanced(by: .seconds(-1)), group: nil))
    }

    static let cases: [Case] =
        [
            Case(type: "SUBSCRIBED", subtype: "INITIAL_BUY", sends: ["INITIAL_BUY"]),
            Case(
                type: "SUBSCRIBED", subtype: "INITIAL_BUY",
                change: { world in world.change("700000000000101") { $0.ownership = "FAMILY_SHARED" } }, sends: [],
                name: "family"),
            Case(type: "SUBSCRIBED", subtype: "RESUBSCRIBE", sends: [status], name: "same product"),
            Case(
                type: "SUBSCRIBED", subtype: "RESUBSCRIBE",
                change: { world in world.change("700000000000100") { $0.product = "com.example.app.yearly" } },
                sends: [again, status], name: "other product"),
            Case(
                type: "SUBSCRIBED", subtype: "RESUBSCRIBE",
                change: { world in world.purchases.removeAll { $0.id == "700000000000100" } }, sends: [again],
                name: "nothing before"),
            Case(type: pref, subtype: "UPGRADE", sends: [status, again]),
            Case(type: pref, subtype: "UPGRADE", profile: .year2020, sends: ["CANCEL", status, again], name: "2020"),
            Case(type: pref, subtype: "DOWNGRADE", sends: [pref]),
            Case(type: pref, sends: [pref]),
            Case(type: "OFFER_REDEEMED", subtype: "UPGRADE", sends: [status, again]),
            Case(
                type: "OFFER_REDEEMED", subtype: "UPGRADE", profile: .year2020, sends: ["CANCEL", status, again],
                name: "2020"),
            Case(type: "OFFER_REDEEMED", subtype: "DOWNGRADE", sends: [pref]),
            Case(type: "OFFER_REDEEMED", sends: []),
            Case(type: status, subtype: "AUTO_RENEW_ENABLED", sends: [status]),
            Case(type: status, subtype: "AUTO_RENEW_DISABLED", renews: 0, sends: [status]),
            Case(type: status, renews: 0, sends: [status]),
            Case(
                type: status, subtype: "AUTO_RENEW_DISABLED", before: [("REFUND", nil, 0)],
                sentBefore: ["CANCEL", status],
                renews: 0, sends: [], name: "after the refund"),
            Case(
                type: status, subtype: "AUTO_RENEW_ENABLED", before: [("REFUND", nil, 0)],
                sentBefore: ["CANCEL", status],
                sends: [status], name: "on again after the refund"),
            Case(
                type: status, subtype: "AUTO_RENEW_DISABLED", before: [("EXPIRED", "PRICE_INCREASE", 0)],
                sentBefore: [status],
                renews: 0, sends: [], name: "after the expiry"),
            Case(type: "DID_RENEW", sends: ["DID_RENEW"]),
            Case(type: "DID_RENEW", subtype: "BILLING_RECOVERY", sends: ["DID_RECOVER"]),
            Case(type: "DID_FAIL_TO_RENEW", subtype: "GRACE_PERIOD", sends: ["DID_FAIL_TO_RENEW"]),
            Case(type: "DID_FAIL_TO_RENEW", sends: ["DID_FAIL_TO_RENEW"]),
            Case(type: "GRACE_PERIOD_EXPIRED", sends: []),
            Case(type: "EXPIRED", subtype: "VOLUNTARY", renews: 0, sends: []),
            Case(type: "EXPIRED", subtype: "BILLING_RETRY", sends: [status]),
            Case(type: "EXPIRED", subtype: "PRICE_INCREASE", renews: 0, sends: [status]),
            Case(type: "EXPIRED", subtype: "PRODUCT_NOT_FOR_SALE", renews: 0, sends: [status]),
            Case(type: "EXPIRED", renews: 0, sends: [status]),
            Case(type: "EXPIRED", sends: [], name: "on still"),
            Case(
                type: "EXPIRED", subtype: "PRICE_INCREASE", before: [(status, "AUTO_RENEW_DISABLED", 0)],
                sentBefore: [status],
                renews: 0, sends: [], name: "off before"),
            Case(
                type: "EXPIRED", subtype: "PRICE_INCREASE", before: [("DID_RENEW", nil, 1)], sentBefore: ["DID_RENEW"],
                renews: 0, sends: [status], name: "on before"),
            Case(type: "PRICE_INCREASE", subtype: "PENDING", sends: ["PRICE_INCREASE_CONSENT"]),
            Case(type: "PRICE_INCREASE", subtype: "ACCEPTED", sends: []),
            Case(type: "REFUND", renews: 0, sends: ["CANCEL", status]),
            Case(type: "REFUND", sends: ["CANCEL"], name: "renews still"),
            Case(
                type: "REFUND", before: [(status, "AUTO_RENEW_DISABLED", 0)], sentBefore: [status], renews: 0,
                sends: ["CANCEL"],
                name: "off before"),
            Case(type: "REFUND", id: "700000000000500", sends: ["REFUND"], name: "of a feature"),
            Case(
                type: "REFUND", id: "700000000000900",
                change: { world in
                    consumable(&world)
                    world.change("700000000000900") { $0.revoked = SharedSimulator.noon }
                }, sends: ["REFUND"], name: "of a consumable"),
            Case(type: "REVOKE", sends: ["REVOKE"]),
            Case(type: "CONSUMPTION_REQUEST", sends: []),
            Case(
                type: "CONSUMPTION_REQUEST", id: "700000000000900", change: { consumable(&$0) },
                sends: ["CONSUMPTION_REQUEST"], name: "consumable"),
            Case(type: "SUBSCRIBED", subtype: "SOMETHING_NEW", sends: []),
            Case(type: "SOMETHING_NEW", sends: []),
            Case(type: "TEST", id: nil, sends: []),
        ]
        + [
            ("REFUND_DECLINED", nil), ("REFUND_REVERSED", nil), ("RENEWAL_EXTENDED", nil),
            ("RENEWAL_EXTENSION", "FAILURE"),
            ("RENEWAL_EXTENSION", "SUMMARY"), ("RENEWAL_EXTENSION", "SUCCESS"), ("ONE_TIME_CHARGE", nil),
            ("EXTERNAL_PURCHASE_TOKEN", "UNREPORTED"), ("EXTERNAL_PURCHASE_TOKEN", "CREATED"),
            ("EXTERNAL_PURCHASE_TOKEN", "ACTIVE_TOKEN_REMINDER"), ("RESCIND_CONSENT", nil), ("METADATA_UPDATE", nil),
            ("MIGRATION", nil), ("MIGRATE", nil), ("PRICE_CHANGE", nil),
        ].map { Case(type: $0.0, subtype: $0.1, sends: []) }

    @Test("Every documented type and subtype has a test case")
    func documented() {
        let covered = Set(Self.cases.map { "\($0.type) \($0.subtype ?? "-")" })
        for (type, subtypes) in NotificationType.documented {
            for subtype in subtypes { #expect(covered.contains("\(type) \(subtype)")) }
        }
    }

    @Test("A version 2 notification gives the expected version 1 bodies, in order", arguments: cases)
    func mapped(one: Case) async throws {
        let bridge = try ForwardingTestProxy([ForwardingTestProxy.target(.v1) { $0.profile = one.profile }])
        let appStore = bridge.bridge.appStore
        appStore.update { one.change(&$0) }
        try await bridge.forwarding {
            for (type, subtype, renews) in one.before {
                appStore.change { $0.renews = renews }
                try await bridge.notify(type, subtype, of: one.id)
                #expect(await bridge.settled())
            }
            appStore.change { $0.renews = one.renews }
            try await bridge.notify(one.type, one.subtype, of: one.id)
            #expect(await bridge.settled())
        }
        let bodies = bridge.targets.requests.compactMap(\.json)
        #expect(bodies.compactMap { $0["notification_type"]?.text } == one.sentBefore + one.sends)
        for body in bodies { try Self.check(body, about: one) }
        #expect(try await bridge.states()[.abandoned] == nil)
        let parts = bridge.targets.requests.suffix(one.sends.count).map { $0.headers["Receipt-Bridge-Part"] }
        if one.sends.count > 1 {
            #expect(parts == (1...one.sends.count).map { "\($0)/\(one.sends.count)" })
        } else {
            #expect(parts.allSatisfy { $0 == nil })
        }
    }

    /// Checks the values that every body has.
    private static func check(_ body: JSONValue, about one: Case) throws {
        #expect(body["password"]?.text == SimulatedApp.first.sharedSecret)
        #expect(body["environment"]?.text == "PROD" && body["bid"]?.text == ScriptedCustomer.bundleId)
        #expect(body["bvrs"]?.text == "42" && body["deprecation"] == nil)
        let isSubscription = one.id == "700000000000101"
        #expect(
            body["original_transaction_id"]?.integer
                == (isSubscription ? 700_000_000_000_100 : one.id.flatMap { Int64($0) }))
        #expect((body["auto_renew_product_id"]?.text == month) == isSubscription)
        #expect(["true", "false"].contains(body["auto_renew_status"]?.text ?? "") == isSubscription)
        if body["notification_type"]?.text == status {
            #expect(body["auto_renew_status_change_date_ms"]?.text?.hasPrefix("17952") == true)
            #expect(body["auto_renew_status_change_date"]?.text?.hasSuffix(" Etc/GMT") == true)
            #expect(body["auto_renew_status_change_date_pst"]?.text?.hasSuffix(" America/Los_Angeles") == true)
        }
        let unified = try #require(body["unified_receipt"])
        #expect(unified["status"]?.integer == 0 && unified["environment"]?.text == "Production")
        // What consumers of version 1 demand: a receipt as text, both lists, and every intent as text.
        #expect(unified["latest_receipt"]?.text?.hasPrefix("ZXlK") == true)
        #expect(body["expiration_intent"].map { $0.text != nil } ?? true)
        #expect(
            (unified["pending_renewal_info"]?.elements ?? []).allSatisfy {
                $0["expiration_intent"].map { $0.text != nil } ?? true
            })
        let rows = try #require(unified["latest_receipt_info"]?.elements)
        let ids = rows.compactMap { $0["transaction_id"]?.text }
        #expect(ids.contains(one.id ?? ""))
        // Rows without an expiry, for example those of consumables, come last.
        let ends = rows.map { $0["expires_date_ms"]?.text.flatMap { Int64($0) } ?? .min }
        #expect(ends == ends.sorted(by: >))
        #expect(unified["pending_renewal_info"]?.elements?.count == 1)
        #expect(["0", "1"].contains(unified["pending_renewal_info"]?.elements?[0]["auto_renew_status"]?.text ?? ""))
    }

    @Test("A refund and a disabled renewal give one status change, whichever is received first")
    func eitherOrder() async throws {
        for refundFirst in [true, false] {
            let bridge = try ForwardingTestProxy([ForwardingTestProxy.target(.v1)])
            let appStore = bridge.bridge.appStore
            try await bridge.notify("DID_RENEW", of: "700000000000101")
            appStore.change { $0.renews = 0 }
            // Signed in this order, and received in both orders.
            let off = try appStore.notification(Self.status, "AUTO_RENEW_DISABLED", of: "700000000000101")
            let refund = try appStore.notification("REFUND", of: "700000000000101")
            for body in refundFirst ? [refund, off] : [off, refund] { try await bridge.bridge.receive(body) }
            try await bridge.forwarding { #expect(await bridge.settled()) }
            #expect(
                bridge.targets.requests.compactMap { $0.json?["notification_type"]?.text }
                    == ["DID_RENEW"] + (refundFirst ? ["CANCEL", Self.status] : [Self.status, "CANCEL"]))
        }
    }

    @Test("A renewal has the expected keys and values")
    func renewal() async throws {
        let bridge = try ForwardingTestProxy([ForwardingTestProxy.target(.v1) { $0.password = SharedSecret("theirs") }])
        let appStore = bridge.bridge.appStore
        appStore.change { ($0.renews, $0.intent) = (0, 1) }
        try await bridge.forwarding {
            try await bridge.notify("DID_RENEW", of: "700000000000101")
            #expect(await bridge.settled())
        }
        let post = try #require(bridge.targets.requests.first)
        guard case .object(let members)? = post.json else { throw SharedSimulator.Missing(what: "a body") }
        #expect(
            members.map(\.key) == [
                "notification_type", "password", "environment", "bid", "bvrs", "auto_renew_product_id",
                "auto_renew_status", "expiration_intent", "original_transaction_id", "unified_receipt",
            ])
        let body = try #require(post.json)
        #expect(body["notification_type"]?.text == "DID_RENEW" && body["password"]?.text == "theirs")
        #expect(body["auto_renew_status"]?.text == "false" && body["expiration_intent"]?.text == "1")
        let unified = try #require(body["unified_receipt"])
        guard case .object(let inner) = unified else { throw SharedSimulator.Missing(what: "a receipt") }
        #expect(
            inner.map(\.key) == [
                "status", "environment", "latest_receipt", "latest_receipt_info", "pending_renewal_info",
            ])
        let rows = try #require(unified["latest_receipt_info"]?.elements)
        #expect(
            rows.compactMap { $0["transaction_id"]?.text }
                == ["700000000000101", "700000000000100", "700000000000500"])
        let begin = SharedSimulator.noon.advanced(by: .milliseconds(-ScriptedCustomer.month / 2))
        let row = rows[0]
        #expect(row["quantity"]?.text == "1" && row["product_id"]?.text == Self.month)
        #expect(row["original_transaction_id"]?.text == "700000000000100")
        #expect(row["purchase_date_ms"]?.text == "\(begin.milliseconds)")
        #expect(row["expires_date_ms"]?.text == "\(begin.milliseconds + ScriptedCustomer.month)")
        #expect(row["in_app_ownership_type"]?.text == "PURCHASED" && row["is_trial_period"]?.text == "false")
        #expect(row["subscription_group_identifier"]?.text == "21000001" && row["signedDate"] == nil)
        let pending = try #require(unified["pending_renewal_info"]?.elements?.first)
        #expect(pending["auto_renew_status"]?.text == "0" && pending["expiration_intent"]?.text == "1")
        #expect(pending["auto_renew_product_id"]?.text == Self.month)
    }

    @Test("A target may do without latest_receipt, and may get numbers; latest_receipt opens the customer's response")
    func targetOptions() async throws {
        let bridge = try ForwardingTestProxy([
            ForwardingTestProxy.target(.v1) { ($0.latestReceipt, $0.writesNumbers) = (.absent, true) }
        ])
        let appStore = bridge.bridge.appStore
        appStore.change { ($0.renews, $0.intent) = (0, 1) }
        try await bridge.forwarding {
            try await bridge.notify("DID_RENEW", of: "700000000000101")
            #expect(await bridge.settled())
        }
        let body = try #require(bridge.targets.requests.first?.json)
        #expect(body["expiration_intent"]?.integer == 1 && body["unified_receipt"]?["latest_receipt"] == nil)
        let other = try ForwardingTestProxy([ForwardingTestProxy.target(.v1)])
        try await other.forwarding {
            try await other.notify("DID_RENEW", of: "700000000000101")
            #expect(await other.settled())
        }
        let latest = try #require(other.targets.requests.first?.json?["unified_receipt"]?["latest_receipt"]?.text)
        let reply = await other.bridge.ask(latest)
        #expect(reply.status == 0 && reply.json?["latest_receipt"]?.text == latest)
    }

    @Test("The Server API is called once for a customer, and not at all if version 1 has no body")
    func lookUps() async throws {
        let bridge = try ForwardingTestProxy([ForwardingTestProxy.target(.v1)])
        let appStore = bridge.bridge.appStore
        try await bridge.forwarding {
            try await bridge.notify("EXPIRED", "VOLUNTARY", of: "700000000000101")
            #expect(await bridge.settled())
            #expect(appStore.questions.isEmpty)
            try await bridge.notify("DID_RENEW", of: "700000000000101")
            #expect(await bridge.settled())
            #expect(Set(appStore.questions) == ["history", "statuses"] && appStore.questions.count == 2)
            let receipt = try appStore.receipt()
            #expect(await bridge.bridge.waitUntilStored(receipt))
            let requestCount = appStore.questions.count
            try await bridge.notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", of: "700000000000101")
            #expect(await bridge.settled())
            #expect(appStore.questions.count == requestCount)
        }
        #expect(bridge.targets.requests.count == 2)
    }

    @Test("The lists come from the store until a period ends", arguments: [(30, 0), (61, 2)])
    func ageOfLists(minutes: Int64, calls: Int) async throws {
        let bridge = try ForwardingTestProxy([ForwardingTestProxy.target(.v1)])
        let appStore = bridge.bridge.appStore
        appStore.update { world in
            world.change("700000000000101") { $0.expires = SharedSimulator.noon.advanced(by: .minutes(60)) }
        }
        try await bridge.forwarding {
            try await bridge.bridge.receive(try appStore.notification("DID_RENEW", of: "700000000000101"))
            #expect(await bridge.settled())
            #expect(await bridge.bridge.waitUntilStored(try appStore.receipt()))
            let requestCount = appStore.questions.count
            bridge.bridge.now = SharedSimulator.noon.advanced(by: .minutes(minutes))
            try await bridge.bridge.receive(
                try appStore.notification("DID_FAIL_TO_RENEW", "GRACE_PERIOD", of: "700000000000101"))
            #expect(await bridge.settled())
            #expect(appStore.questions.count == requestCount + calls)
        }
    }

    @Test("An incomplete history is not sent; the lookup is retried and then the body is sent")
    func failingLookUp() async throws {
        let bridge = try ForwardingTestProxy([ForwardingTestProxy.target(.v1), ForwardingTestProxy.target(.raw, "raw")])
        let appStore = bridge.bridge.appStore
        let body = try appStore.notification("DID_RENEW", of: "700000000000101")
        appStore.update { $0.isDown = true }
        let store = bridge.bridge.store
        try await bridge.forwarding {
            try await bridge.bridge.receive(body)
            #expect(await eventually { (try? await bridge.states()) == [.waiting: 1, .delivered: 1] })
            #expect(
                await eventually(within: .seconds(30)) {
                    (try? await store.deliveries(in: .waiting).first?.lastFailure) == "lookup.httpStatus"
                })
            #expect(bridge.targets.requests(to: ForwardingTestProxy.url()).isEmpty)
            appStore.update { $0.isDown = false }
            bridge.bridge.now = SharedSimulator.noon.advanced(by: .seconds(20))
            #expect(await bridge.settled())
        }
        #expect(bridge.targets.requests(to: ForwardingTestProxy.url()).count == 1)
    }

    @Test("If the second of several bodies fails, the first is not sent again")
    func parts() async throws {
        let bridge = try ForwardingTestProxy([ForwardingTestProxy.target(.v1)])
        let appStore = bridge.bridge.appStore
        appStore.change { $0.renews = 0 }
        bridge.targets.answer { $0.headers["Receipt-Bridge-Part"] == "2/2" ? 503 : 200 }
        let store = bridge.bridge.store
        try await bridge.forwarding {
            try await bridge.notify("REFUND", of: "700000000000101")
            #expect(await eventually { (try? await store.deliveries().first?.attempts) == 1 })
            bridge.targets.answer { _ in 200 }
            bridge.bridge.now = SharedSimulator.noon.advanced(by: .seconds(10))
            #expect(await bridge.settled())
        }
        #expect(
            bridge.targets.requests.compactMap { $0.json?["notification_type"]?.text }
                == ["CANCEL", Self.status, Self.status])
    }
}
