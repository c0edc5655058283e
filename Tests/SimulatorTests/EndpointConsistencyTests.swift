import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

/// Compares the data of verifyReceipt and of the Server API about the same customer. The corresponding names are listed
/// here and not taken from the mapping tables, so that the comparison does not depend on them.
@Suite("verifyReceipt and Server API of the simulator")
struct EndpointConsistencyTests {
    private let store: SimulatedStore

    init() throws { store = try SharedSimulator.allKinds.get() }

    private func milliseconds(_ row: JSONValue, _ key: String) -> Int64? {
        row["\(key)_ms"]?.text.flatMap { Int64($0) }
    }

    @Test("Every transaction of every receipt is in the history with the same dates, products, offers and refunds")
    func transactions() throws {
        var compared = 0
        for customer in store.world.customers {
            for receipt in store.receipts(of: customer) where receipt.plan.version == nil {
                let answer = try store.verdict(on: receipt.base64)
                #expect(answer["status"] == .number(0))
                let history = try store.history(of: customer.appTransactionId, in: customer.environment).rows
                let listed = answer["latest_receipt_info"]?.elements ?? answer["receipt"]?["in_app"]?.elements ?? []
                for row in listed {
                    let same = try #require(history.first { matches(row, $0) })
                    try compare(row, same)
                    compared += 1
                }
            }
        }
        #expect(compared > 400)
    }

    /// Compares the transaction id; a restored row has another id, so it is found by its line item.
    private func matches(_ row: JSONValue, _ payload: JSONValue) -> Bool {
        row["transaction_id"] == payload["transactionId"]
            || row["web_order_line_item_id"] != nil && row["web_order_line_item_id"] == payload["webOrderLineItemId"]
    }

    private func compare(_ row: JSONValue, _ payload: JSONValue) throws {
        #expect(row["product_id"] == payload["productId"])
        #expect(row["original_transaction_id"] == payload["originalTransactionId"])
        for (key, name) in [
            ("purchase_date", "purchaseDate"), ("original_purchase_date", "originalPurchaseDate"),
            ("expires_date", "expiresDate"),
        ] {
            #expect(milliseconds(row, key) == payload[name]?.integer)
        }
        let isConsumable = payload["type"]?.text == "Consumable"
        #expect(milliseconds(row, "cancellation_date") == (isConsumable ? nil : payload["revocationDate"]?.integer))
        #expect((row["is_trial_period"]?.text == "true") == (payload["offerDiscountType"]?.text == "FREE_TRIAL"))
        // The dates of this world are after 2024-09-01, from when on free introductory offers have both flags.
        let isIntroduction = payload["offerType"]?.integer == 1
        #expect((row["is_in_intro_offer_period"]?.text == "true") == isIntroduction)
        let isCode = payload["offerType"]?.integer == 3
        #expect(row["offer_code_ref_name"] == (isCode ? payload["offerIdentifier"] : nil))
        let isNamed = payload["offerType"]?.integer == 2 || isCode && payload["expiresDate"] != nil
        #expect((row["promotional_offer_id"] != nil) == isNamed)
        #expect(row["promotional_offer_id"] != payload["offerIdentifier"] || !isCode || !isNamed)
        if row["in_app_ownership_type"] != nil {
            #expect(row["in_app_ownership_type"] == payload["inAppOwnershipType"])
        }
        if row["in_app_ownership_type"]?.text == "FAMILY_SHARED" {
            #expect(row["web_order_line_item_id"] == nil && row["subscription_group_identifier"] == nil)
        }
    }

    @Test("Every id in a receipt is known to the Server API in its own environment only")
    func identifiers() throws {
        for receipt in store.receipts {
            for transaction in receipt.transactions {
                for id in [transaction.receiptId, transaction.originalTransactionId] {
                    #expect(try store.ask("v1/transactions/\(id)", in: receipt.environment).status == 200)
                    let other: AppStoreEnvironment = receipt.environment == .production ? .sandbox : .production
                    #expect(try store.code("v2/history/\(id)", in: other) == 4_040_010)
                }
            }
        }
    }

    @Test("Both report the same renewal data, and the same transactionReceipts have expired")
    func renewals() throws {
        var statuses: [Int64: Int] = [:]
        for customer in store.world.customers where !customer.renewals.isEmpty {
            let data = try #require(
                try store.ask("v1/subscriptions/\(customer.appTransactionId)", in: customer.environment)
                    .body?["data"]?.elements)
            let items = data.flatMap { $0["lastTransactions"]?.elements ?? [] }
            #expect(items.count == customer.renewals.count)
            for item in items { statuses[try #require(item["status"]?.integer), default: 0] += 1 }
            for receipt in store.receipts(of: customer) {
                let answer = try store.verdict(on: receipt.base64)
                guard receipt.plan.version == nil else {
                    let isEntitled = items.contains { [1, 4].contains($0["status"]?.integer) }
                    #expect(answer["status"]?.integer == (isEntitled ? 0 : 21006), "\(receipt.id)")
                    continue
                }
                for renewal in answer["pending_renewal_info"]?.elements ?? [] {
                    let item = try #require(
                        items.first { $0["originalTransactionId"] == renewal["original_transaction_id"] })
                    let payload = try decoded(item["signedRenewalInfo"])
                    #expect(renewal["auto_renew_product_id"] == payload["autoRenewProductId"])
                    #expect(
                        renewal["auto_renew_status"]?.text
                            == (payload["autoRenewStatus"]?.integer).map { String($0) })
                    #expect(
                        renewal["expiration_intent"]?.text
                            == (payload["expirationIntent"]?.integer).map { String($0) })
                    #expect(
                        renewal["price_increase_status"]?.text
                            == (payload["priceIncreaseStatus"]?.integer).map { String($0) })
                    #expect(
                        milliseconds(renewal, "grace_period_expires_date")
                            == payload["gracePeriodExpiresDate"]?.integer)
                }
            }
        }
        #expect(Set(statuses.keys) == [1, 2, 3, 4, 5])
    }

    @Test("An upgrade is reported as a cancellation only in worlds with that option")
    func upgrades() throws {
        for isAsked in [false, true] {
            let store = try SharedSimulator.store(options: .init(upgradesAreCancelled: isAsked))
            let customer = try store.customer(.upgraded)
            let answer = try store.verdict(on: try #require(store.receipts(of: customer).first).base64)
            let row = try #require(answer["latest_receipt_info"]?.elements?.first { $0["is_upgraded"] != nil })
            #expect(row["is_upgraded"]?.text == "true")
            #expect((row["cancellation_reason"]?.text == "0") == isAsked)
        }
    }

    @Test("A restored period has one id in receipts and verifyReceipt, and another in the history")
    func restored() throws {
        let customer = try store.customer(.oldRestored)
        let receipt = try #require(store.receipts(of: customer).first)
        let answer = try store.verdict(on: receipt.base64)
        let newest = try #require(customer.transactions.last)
        #expect(answer["receipt"]?["transaction_id"]?.text == newest.restoredId)
        #expect(answer["latest_receipt_info"]?["transaction_id"]?.text == newest.transactionId)
        #expect(
            answer["receipt"]?["web_order_line_item_id"] == answer["latest_receipt_info"]?["web_order_line_item_id"])
    }
}
