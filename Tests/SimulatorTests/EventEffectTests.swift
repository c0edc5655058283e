import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Effects of events on a customer")
struct EventEffectTests {
    /// An event, the customer and the earlier events that make it possible, and the expected results.
    struct Case: CustomTestStringConvertible, Sendable {
        let kind: CustomerKind
        let before: [WorldEvent]
        let event: WorldEvent
        let expected: [String]
        /// `nil` if the notification is not about a subscription.
        let status: Int64?
        /// `null` for keys that must be absent.
        let renewal: [String: JSONValue]
        let transaction: [String: JSONValue]

        init(
            _ kind: CustomerKind, _ event: WorldEvent, _ expected: [String], after before: [WorldEvent] = [],
            status: Int64?, renewal: [String: JSONValue] = [:], transaction: [String: JSONValue] = [:]
        ) {
            (self.kind, self.before, self.event, self.expected) = (kind, before, event, expected)
            (self.status, self.renewal, self.transaction) = (status, renewal, transaction)
        }

        var testDescription: String { "\(kind), \(before.map { "\($0), " }.joined())\(event)" }
    }

    static let monthly = JSONValue.string("com.example.app.monthly")
    static let yearly = JSONValue.string("com.example.app.yearly")
    static let running: [String: JSONValue] = [
        "autoRenewStatus": .number(1), "expirationIntent": .null, "isInBillingRetryPeriod": .null,
        "gracePeriodExpiresDate": .null, "priceIncreaseStatus": .null,
    ]

    static func over(_ intent: Int64) -> [String: JSONValue] {
        [
            "autoRenewStatus": .number(0), "expirationIntent": .number(intent), "isInBillingRetryPeriod": .bool(false),
            "gracePeriodExpiresDate": .null,
        ]
    }

    static let cases = [
        Case(
            .activeSubscription, .renew, ["DID_RENEW"], status: 1, renewal: running,
            transaction: ["transactionReason": .string("RENEWAL"), "productId": monthly]),
        Case(
            .gracePeriod, .billingRecovery, ["DID_RENEW/BILLING_RECOVERY"], status: 1, renewal: running,
            transaction: ["transactionReason": .string("RENEWAL")]),
        Case(.billingRetry, .billingRecovery, ["DID_RENEW/BILLING_RECOVERY"], status: 1, renewal: running),
        Case(.downgradePending, .renew, ["DID_RENEW"], status: 1, transaction: ["productId": monthly]),
        Case(
            .activeSubscription, .billingFailure, ["DID_FAIL_TO_RENEW"], status: 3,
            renewal: ["isInBillingRetryPeriod": .bool(true), "gracePeriodExpiresDate": .null]),
        Case(
            .activeSubscription, .billingFailureWithGrace, ["DID_FAIL_TO_RENEW/GRACE_PERIOD"], status: 4,
            renewal: ["isInBillingRetryPeriod": .bool(true), "expirationIntent": .number(2)]),
        Case(
            .gracePeriod, .gracePeriodExpired, ["GRACE_PERIOD_EXPIRED"], status: 3,
            renewal: ["isInBillingRetryPeriod": .bool(true), "gracePeriodExpiresDate": .null]),
        Case(
            .activeSubscription, .expireVoluntary, ["EXPIRED/VOLUNTARY"], after: [.autoRenewOff], status: 2,
            renewal: over(1)),
        Case(.billingRetry, .expireBillingRetry, ["EXPIRED/BILLING_RETRY"], status: 2, renewal: over(2)),
        Case(
            .activeSubscription, .expirePriceIncrease, ["EXPIRED/PRICE_INCREASE"], after: [.priceIncreasePending],
            status: 2,
            renewal: over(3)),
        Case(
            .activeSubscription, .expireProductNotForSale, ["EXPIRED/PRODUCT_NOT_FOR_SALE"], status: 2,
            renewal: over(4)),
        Case(.activeSubscription, .expireOther, ["EXPIRED"], status: 2, renewal: over(5)),
        Case(
            .expiredSubscription, .resubscribe, ["SUBSCRIBED/RESUBSCRIBE"], status: 1, renewal: running,
            transaction: ["productId": monthly, "transactionReason": .string("PURCHASE")]),
        Case(
            .expiredSubscription, .resubscribeOther, ["SUBSCRIBED/RESUBSCRIBE"], status: 1, renewal: running,
            transaction: ["productId": yearly]),
        Case(
            .activeSubscription, .upgrade, ["DID_CHANGE_RENEWAL_PREF/UPGRADE"], status: 1,
            renewal: ["autoRenewProductId": yearly, "productId": yearly], transaction: ["productId": yearly]),
        Case(
            .familyShared, .autoRenewOff, ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"], after: [.initialBuy],
            status: 1,
            renewal: ["autoRenewStatus": .number(0)]),
        Case(
            .activeSubscription, .downgrade, ["DID_CHANGE_RENEWAL_PREF/DOWNGRADE"], after: [.upgrade], status: 1,
            renewal: ["autoRenewProductId": monthly, "productId": yearly], transaction: ["productId": yearly]),
        Case(
            .downgradePending, .downgradeTakenBack, ["DID_CHANGE_RENEWAL_PREF"], status: 1,
            renewal: ["autoRenewProductId": yearly]),
        Case(
            .activeSubscription, .autoRenewOn, ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED"], after: [.autoRenewOff],
            status: 1, renewal: ["autoRenewStatus": .number(1)]),
        Case(.activeSubscription, .offerRedeemed, ["OFFER_REDEEMED"], status: 1),
        Case(
            .activeSubscription, .offerUpgrade, ["OFFER_REDEEMED/UPGRADE"], status: 1,
            renewal: ["offerType": .null], transaction: ["productId": yearly]),
        Case(
            .activeSubscription, .offerDowngrade, ["OFFER_REDEEMED/DOWNGRADE"], after: [.upgrade], status: 1,
            renewal: ["autoRenewProductId": monthly]),
        Case(
            .activeSubscription, .priceIncreasePending, ["PRICE_INCREASE/PENDING"], status: 1,
            renewal: ["priceIncreaseStatus": .number(0)]),
        Case(
            .priceIncreaseAsked, .priceIncreaseAccepted, ["PRICE_INCREASE/ACCEPTED"], status: 1,
            renewal: ["priceIncreaseStatus": .number(1)]),
        Case(.consumables, .consumptionRequest, ["CONSUMPTION_REQUEST"], status: nil),
        Case(.consumables, .refund, ["REFUND"], status: nil, transaction: ["revocationType": .string("REFUND_FULL")]),
        Case(.consumables, .refundDeclined, ["REFUND_DECLINED"], status: nil),
        Case(
            .revokedSubscription, .refundReversed, ["REFUND_REVERSED"], status: 1,
            transaction: ["revocationDate": .null, "revocationType": .null, "revocationReason": .null]),
        Case(
            .familyShared, .revoke, ["REVOKE"], status: nil,
            transaction: ["revocationType": .string("FAMILY_REVOKE"), "revocationReason": .number(0)]),
        Case(.activeSubscription, .extend, ["RENEWAL_EXTENDED"], status: 1, renewal: running),
        Case(
            .activeSubscription, .migration, ["MIGRATION"], status: 1, renewal: running,
            transaction: ["productId": .string("com.example.app.generic.monthly"), "isUpgraded": .null]),
        Case(.noPurchases, .buyConsumable, ["ONE_TIME_CHARGE"], status: nil),
        Case(.noPurchases, .buyNonConsumable, ["ONE_TIME_CHARGE"], status: nil),
        Case(.noPurchases, .buyNonRenewing, ["ONE_TIME_CHARGE"], status: nil),
        Case(
            .noPurchases, .initialBuy, ["SUBSCRIBED/INITIAL_BUY"], status: 1, renewal: running,
            transaction: ["transactionReason": .string("PURCHASE")]),
    ]

    @Test("A notification has the state after the event, and all endpoints report the same state", arguments: cases)
    func effect(_ given: Case) throws {
        let store = try SharedSimulator.store(customers: 60)
        let customer = try store.customer(given.kind)
        for event in given.before { try store.simulate(EventRequest(event, customerId: customer.id)) }
        let outcome = try store.simulate(EventRequest(given.event, customerId: customer.id), seed: 5)
        #expect(outcome.notificationTypes == given.expected)
        let notification = try #require(outcome.notifications.first)
        let id = try #require(notification.transaction).transactionId

        let past = try store.sentNotifications(about: id)
        let payload = try #require(past.last)
        #expect(payload["notificationUUID"]?.text == notification.uuid)
        #expect(payload["version"]?.text == "2.0")
        let signed = try decoded(payload["data"]?["signedTransactionInfo"])
        for (key, value) in given.transaction { #expect((signed[key] ?? .null) == value, "\(key)") }
        let renewal = try payload["data"]?["signedRenewalInfo"].map(decoded)
        for (key, value) in given.renewal { #expect((renewal?[key] ?? .null) == value, "\(key)") }
        if let status = given.status { #expect(payload["data"]?["status"]?.integer == status) }

        // The Server API reports the same state now, and does not sign it earlier.
        let now = try decoded(store.ask("v1/transactions/\(id)").body?["signedTransactionInfo"])
        #expect(now.withoutSignedDate == signed.withoutSignedDate)
        #expect(try #require(now["signedDate"]?.integer) >= (try #require(signed["signedDate"]?.integer)))
        #expect(
            try store.history(of: id).rows.last?["transactionId"]?.text == id
                || !given.expected[0].hasPrefix("DID_RENEW"))
        if let renewal, outcome.notifications.count == 1 {
            let subscriptionState = try store.subscriptionState(
                of: try #require(signed["originalTransactionId"]?.text))
            #expect(subscriptionState.renewal.withoutSignedDate == renewal.withoutSignedDate)
            #expect(subscriptionState.status == payload["data"]?["status"])
        }
    }

    @Test("There is a case for every event")
    func complete() {
        // The other two are not about a transaction; AccountEventTests has them.
        let others: Set<WorldEvent> = [.rescindConsent, .accountRemoved]
        #expect(Set(Self.cases.map(\.event)).union(others) == Set(WorldEvent.allCases))
    }

    @Test("A refund of the current period ends the subscription and its renewal; a refund of a past period does not")
    func refunds() throws {
        let store = try SharedSimulator.store(customers: 40)
        let customer = try store.customer(.longHistory)
        let (old, current) = (customer.transactions[3], try #require(customer.transactions.last))
        let past = try store.simulate(EventRequest(.refund, transactionId: old.transactionId))
        #expect(past.notificationTypes == ["REFUND"])
        #expect(past.notifications[0].transaction?.transactionId == old.transactionId)
        #expect(try store.subscriptionState(of: old.originalTransactionId).status == .number(1))
        #expect(throws: EventFailure.impossible) {
            try store.simulate(EventRequest(.refund, transactionId: old.transactionId))
        }
        let running = try store.simulate(EventRequest(.refund, transactionId: current.transactionId))
        #expect(running.notificationTypes == ["REFUND", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"])
        #expect(running.notifications[0].date < running.notifications[1].date)
        #expect(running.notifications.map { $0.renewal?.willRenew } == [true, false])
        #expect(try store.subscriptionState(of: old.originalTransactionId).status == .number(5))
        let refunds = try #require(
            try store.ask("v2/refund/lookup/\(old.transactionId)").body?["signedTransactions"]?.elements)
        #expect(
            try refunds.map { try decoded($0)["transactionId"]?.text }
                == [old.transactionId, current.transactionId])
        try store.simulate(EventRequest(.refundReversed, transactionId: current.transactionId))
        #expect(try store.subscriptionState(of: old.originalTransactionId).status == .number(1))
        #expect(try store.subscriptionState(of: old.originalTransactionId).renewal["autoRenewStatus"] == .number(0))
    }

    @Test("An upgrade marks the previous period in the history only")
    func upgrades() throws {
        let store = try SharedSimulator.store(customers: 40)
        let customer = try store.customer(.activeSubscription)
        let previous = try #require(customer.transactions.last)
        let outcome = try store.simulate(EventRequest(.upgrade, customerId: customer.id))
        #expect(outcome.notifications.map { $0.transaction?.transactionId } != [previous.transactionId])
        let rows = try store.history(of: previous.transactionId).rows
        #expect(rows.first { $0["transactionId"]?.text == previous.transactionId }?["isUpgraded"] == .bool(true))
        #expect(rows.last?["productId"] == Self.yearly)
    }

    @Test("verifyReceipt shows a renewal at once, with a new latest receipt that it accepts")
    func verifyReceipt() throws {
        let store = try SharedSimulator.store(customers: 40)
        let customer = try store.customer(.activeSubscription)
        let receipt = try #require(store.receipts(of: customer).first)
        let before = try store.verdict(on: receipt.base64)
        let outcome = try store.simulate(EventRequest(.renew, customerId: customer.id))
        let after = try store.verdict(on: receipt.base64)
        let id = try #require(outcome.notifications.first?.transaction).transactionId
        #expect(after["latest_receipt_info"]?.elements?.first?["transaction_id"]?.text == id)
        #expect(after["latest_receipt"] != before["latest_receipt"])
        #expect(after["receipt"]?["in_app"] == before["receipt"]?["in_app"])
        let again = try store.verdict(on: try #require(after["latest_receipt"]?.text))
        #expect(again["receipt"]?["in_app"]?.elements?.contains { $0["transaction_id"]?.text == id } == true)
    }

    @Test("Extensions through the Server API are reported by notifications, a mass extension also by its summary")
    func extensions() throws {
        let store = try SharedSimulator.store(customers: 40)
        let customer = try store.customer(.longHistory)
        let original = try #require(customer.transactions.first).transactionId
        let body = JSONValue(["extendByDays": 3, "extendReasonCode": 1, "requestIdentifier": "r"])
        #expect(try store.ask("v1/subscriptions/extend/\(original)", method: "PUT", body: body).status == 200)
        #expect(store.notifications.all.map(\.notification.type) == ["RENEWAL_EXTENDED"])
        let mass = JSONValue([
            "extendByDays": 3, "extendReasonCode": 1, "productId": Self.yearly,
            "requestIdentifier": "3f0b9f5e-6d1c-4c2a-9a57-1b7a0f6e2d11",
        ])
        #expect(try store.ask("v1/subscriptions/extend/mass", method: "POST", body: mass).status == 200)
        let made = store.notifications.all.map(\.notification).dropFirst()
        let summary = try #require(made.last?.summary)
        #expect(made.count { $0.type == "RENEWAL_EXTENDED" } == Int(summary.succeeded))
        #expect(made.count { $0.subtype == "FAILURE" } == Int(summary.failed))
        #expect(summary.succeeded + summary.failed > 0)
        let last = try #require(try store.sentNotifications(type: "RENEWAL_EXTENSION").last)
        #expect(last["subtype"]?.text == "SUMMARY")
        #expect(last["data"] == nil)
        #expect(last["summary"]?["succeededCount"] == .number(summary.succeeded))
    }
}

extension JSONValue {
    var withoutSignedDate: JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { $0.key != "signedDate" })
    }
}
