import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Version 1 notifications")
struct NotificationV1Tests {
    private let store: SimulatedStore
    private let receiver: TestServer

    init() throws {
        store = try SharedSimulator.store(customers: 60)
        receiver = try TestServer(reply: .respond())
        try store.notify(receiver, .first)
    }

    private func bodies(
        _ kind: CustomerKind, _ environment: AppStoreEnvironment = .production, _ events: WorldEvent...
    ) async throws -> [JSONValue] {
        let customer = try store.customer(kind, environment)
        try await store.delivering {
            for event in events {
                try store.simulate(EventRequest(event, customerId: customer.id))
                #expect(await eventually { store.outbox.counts.waiting == 0 })
            }
        }
        return receiver.documents
    }

    @Test("A production renewal has the documented keys and values")
    func renewal() async throws {
        let customer = try store.customer(.activeSubscription)
        let body = try #require(try await bodies(.activeSubscription, .production, .renew).first)
        let row = try #require(store.notifications[0]?.notification.transaction)
        #expect(
            keys(body) == [
                "notification_type", "password", "environment", "bid", "bvrs", "auto_renew_product_id",
                "auto_renew_adam_id", "auto_renew_status", "original_transaction_id", "unified_receipt",
            ])
        expect(
            body,
            has: [
                "notification_type": "DID_RENEW", "password": SimulatedApp.first.sharedSecret, "environment": "PROD",
                "bid": "com.example.app", "bvrs": "42", "auto_renew_product_id": "com.example.app.monthly",
                "auto_renew_adam_id": "1600000001", "auto_renew_status": "true",
                "original_transaction_id": Int64(row.originalTransactionId),
            ])
        let unified = try #require(body["unified_receipt"])
        #expect(
            keys(unified) == ["status", "environment", "latest_receipt_info", "latest_receipt", "pending_renewal_info"])
        expect(unified, has: ["status": 0, "environment": "Production"])
        let rows = try #require(unified["latest_receipt_info"]?.elements)
        #expect(rows.count == customer.transactions.count + 1)
        #expect(rows.first?["transaction_id"]?.text == row.transactionId)
        let ends = rows.compactMap { $0["expires_date_ms"]?.text.flatMap { Int64($0) } }
        #expect(ends == ends.sorted(by: >))
        #expect(rows.last?["expires_date_ms"] == nil)
        #expect(
            keys(rows.first) == [
                "quantity", "product_id", "transaction_id", "original_transaction_id", "purchase_date",
                "purchase_date_ms", "purchase_date_pst", "original_purchase_date", "original_purchase_date_ms",
                "original_purchase_date_pst", "expires_date", "expires_date_ms", "expires_date_pst",
                "web_order_line_item_id", "is_trial_period", "is_in_intro_offer_period", "in_app_ownership_type",
                "subscription_group_identifier",
            ] + (row.appAccountToken == nil ? [] : ["app_account_token"]))
        let pending = try #require(unified["pending_renewal_info"]?.elements)
        #expect(
            pending.map { keys($0) } == [
                ["auto_renew_product_id", "product_id", "original_transaction_id", "auto_renew_status"]
            ])
        #expect(pending.first?["auto_renew_status"] == .string("1"))

        // verifyReceipt accepts the receipt in the body.
        let verdict = try store.verdict(on: try #require(unified["latest_receipt"]?.text), at: .production)
        #expect(verdict["status"] == .number(0))
        #expect(
            verdict["receipt"]?["in_app"]?.elements?.contains { $0["transaction_id"]?.text == row.transactionId }
                == true)
    }

    @Test("A sandbox notification about disabled auto-renewal has the date of the change in three forms")
    func statusChange() async throws {
        let body = try #require(try await bodies(.activeSubscription, .sandbox, .autoRenewOff).first)
        #expect(
            keys(body) == [
                "notification_type", "password", "environment", "bid", "bvrs", "auto_renew_product_id",
                "auto_renew_status", "auto_renew_status_change_date", "auto_renew_status_change_date_ms",
                "auto_renew_status_change_date_pst", "original_transaction_id", "unified_receipt",
            ])
        let date = try #require(store.notifications[0]).notification.date
        expect(
            body,
            has: [
                "environment": "Sandbox", "auto_renew_status": "false",
                "auto_renew_status_change_date": "2026-11-21 12:00:00 Etc/GMT",
                "auto_renew_status_change_date_ms": "\(date.milliseconds)",
                "auto_renew_status_change_date_pst": "2026-11-21 04:00:00 America/Los_Angeles",
            ])
        expect(body["unified_receipt"], has: ["environment": "Sandbox"])
    }

    @Test("A refunded consumable is listed with its cancellation although it was finished, and without renewal data")
    func consumable() async throws {
        let customer = try store.customer(.consumables)
        let finished = try #require(customer.transactions.first { $0.isFinished })
        try await store.delivering {
            try store.simulate(EventRequest(.refund, transactionId: finished.transactionId))
        }
        let body = try #require(receiver.documents.first)
        #expect(
            keys(body) == [
                "notification_type", "password", "environment", "bid", "bvrs", "original_transaction_id",
                "unified_receipt",
            ])
        #expect(body["notification_type"] == .string("REFUND"))
        let rows = try #require(body["unified_receipt"]?["latest_receipt_info"]?.elements)
        let row = try #require(rows.first { $0["transaction_id"]?.text == finished.transactionId })
        #expect(row["cancellation_date_ms"] != nil)
        #expect(row["cancellation_reason"] != nil)
        #expect(body["unified_receipt"]?["pending_renewal_info"] == nil)
    }

    @Test("The expiration intent of an expired subscription is a number")
    func intent() async throws {
        let body = try #require(try await bodies(.activeSubscription, .production, .expireOther).first)
        expect(
            body,
            has: [
                "notification_type": "DID_CHANGE_RENEWAL_STATUS", "expiration_intent": 5, "auto_renew_status": "false",
            ])
        #expect(body["unified_receipt"]?["pending_renewal_info"]?.elements?.first?["expiration_intent"] == .string("5"))
    }

    @Test(
        "Each event has the types of Apple's table in that order",
        arguments: [
            (.noPurchases, [.initialBuy], ["INITIAL_BUY"]),
            (.expiredSubscription, [.resubscribe], ["DID_CHANGE_RENEWAL_STATUS"]),
            (.expiredSubscription, [.resubscribeOther], ["INTERACTIVE_RENEWAL", "DID_CHANGE_RENEWAL_STATUS"]),
            (.activeSubscription, [.upgrade], ["DID_CHANGE_RENEWAL_STATUS", "INTERACTIVE_RENEWAL"]),
            (.activeSubscription, [.offerUpgrade], ["DID_CHANGE_RENEWAL_STATUS", "INTERACTIVE_RENEWAL"]),
            (
                .downgradePending, [.downgradeTakenBack, .downgrade],
                ["DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_PREF"]
            ),
            (.activeSubscription, [.offerRedeemed], []),
            (.activeSubscription, [.autoRenewOff, .expireVoluntary], ["DID_CHANGE_RENEWAL_STATUS"]),
            (.billingRetry, [.billingRecovery], ["DID_RECOVER"]),
            (.billingRetry, [.expireBillingRetry], ["DID_CHANGE_RENEWAL_STATUS"]),
            (
                .activeSubscription, [.billingFailureWithGrace, .gracePeriodExpired, .expireBillingRetry],
                ["DID_FAIL_TO_RENEW", "DID_CHANGE_RENEWAL_STATUS"]
            ),
            (.activeSubscription, [.priceIncreasePending, .priceIncreaseAccepted], ["PRICE_INCREASE_CONSENT"]),
            (.activeSubscription, [.extend], []), (.activeSubscription, [.rescindConsent, .migration], []),
            (.nonRenewing, [.refund, .refundReversed], ["REFUND"]),
            (.familyShared, [.revoke], ["REVOKE"]),
            (.consumables, [.consumptionRequest, .refundDeclined], ["CONSUMPTION_REQUEST"]),
            (.noPurchases, [.buyConsumable, .buyNonConsumable, .buyNonRenewing], []),
        ] as [(CustomerKind, [WorldEvent], [String])])
    func types(kind: CustomerKind, events: [WorldEvent], types: [String]) async throws {
        let customer = try store.customer(kind)
        var options = DeliveryOptions()
        options.concurrency = 1
        try await store.delivering {
            for event in events { try store.simulate(EventRequest(event, customerId: customer.id), seed: 1, options) }
        }
        #expect(receiver.documents.compactMap { $0["notification_type"]?.text } == types)
        // Apple's notification history lists version 2 only.
        #expect(try store.notificationItems().isEmpty)
    }

    @Test("A refunded subscription is reported as CANCEL, and the end of its renewal once")
    func cancelled() async throws {
        let customer = try store.customer(.activeSubscription)
        let newest = try #require(customer.transactions.last)
        try await store.delivering {
            try store.simulate(EventRequest(.refund, transactionId: newest.transactionId), seed: 1)
        }
        let types = receiver.documents.compactMap { $0["notification_type"]?.text }
        #expect(types.sorted() == ["CANCEL", "DID_CHANGE_RENEWAL_STATUS"])
    }
}
