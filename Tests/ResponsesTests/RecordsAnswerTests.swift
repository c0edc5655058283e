import ReceiptBridgeReceipts
import ReceiptBridgeBase
import Foundation
import ReceiptBridgeResponses
import Testing

private func answer(
    _ receipt: ReceiptContents, _ records: CustomerRecords?, options: AnswerOptions = AnswerOptions(),
    dropsRefundedConsumables: Bool = false, tables: FieldTables = .bundled
) throws -> [String: Any] {
    let history = PurchaseHistory(
        receipt: receipt, environment: .production, submittedText: Redacted(Array("MIIsubmitted==".utf8)),
        records: records, dropsRefundedConsumables: dropsRefundedConsumables)
    let body = VerifyReceiptRenderer(tables: tables).answer(history: history, requestDate: summer, options: options)
        .body
    return try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
}

private func rows(_ answer: [String: Any], _ key: String = "latest_receipt_info") -> [[String: String]] {
    let holder = key == "in_app" ? answer["receipt"] as? [String: Any] : answer
    return holder?[key] as? [[String: String]] ?? []
}

@Suite("Response to an App Receipt, from the Server API")
struct RecordsAnswerTests {
    @Test("A row of latest_receipt_info has every value as text, in Apple's order")
    func row() throws {
        let history = PurchaseHistory(
            receipt: .app(appReceipt(purchases: [month("500000000000002")])), environment: .production,
            submittedText: Redacted(Array("MIIsubmitted==".utf8)),
            records: records([
                transaction("500000000000003", day: 30) {
                    $0.offerType = 2
                    $0.offerIdentifier = "summer"
                    $0.offerDiscountType = "PAY_UP_FRONT"
                    $0.isUpgraded = true
                    $0.appAccountToken = "11111111-2222-4333-8444-555555555555"
                }
            ]))
        let body = text(renderer.answer(history: history, requestDate: summer).body)
        let start = try #require(body.range(of: "\"latest_receipt_info\":"))
        #expect(
            body[start.lowerBound...] == """
                "latest_receipt_info":[{"quantity":"1","product_id":"com.example.reader.month",\
                "transaction_id":"500000000000003","original_transaction_id":"500000000000002",\
                "purchase_date":"2023-02-05 10:13:20 Etc/GMT","purchase_date_ms":"1675592000000",\
                "purchase_date_pst":"2023-02-05 02:13:20 America/Los_Angeles",\
                "original_purchase_date":"2023-01-06 10:13:20 Etc/GMT","original_purchase_date_ms":"1673000000000",\
                "original_purchase_date_pst":"2023-01-06 02:13:20 America/Los_Angeles",\
                "expires_date":"2023-03-07 10:13:20 Etc/GMT","expires_date_ms":"1678184000000",\
                "expires_date_pst":"2023-03-07 02:13:20 America/Los_Angeles",\
                "web_order_line_item_id":"9500000000000003","is_trial_period":"false",\
                "is_in_intro_offer_period":"false","promotional_offer_id":"summer",\
                "in_app_ownership_type":"PURCHASED","subscription_group_identifier":"20500001",\
                "is_upgraded":"true","app_account_token":"11111111-2222-4333-8444-555555555555"}],\
                "latest_receipt":"MIIsubmitted==",\
                "pending_renewal_info":[{"auto_renew_product_id":"com.example.reader.month",\
                "product_id":"com.example.reader.month","original_transaction_id":"500000000000002",\
                "auto_renew_status":"1"}]}
                """)
    }

    /// offerType, offerDiscountType, price → is_trial_period, is_in_intro_offer_period, promotional, code
    static let offers: [(Int64?, String?, Int64?, String, String, String?, String?)] = [
        (nil, nil, nil, "false", "false", nil, nil),
        (1, "FREE_TRIAL", 0, "true", "false", nil, nil),
        (1, "PAY_AS_YOU_GO", 990, "false", "true", nil, nil),
        (1, "PAY_UP_FRONT", 990, "false", "true", nil, nil),
        (1, nil, 0, "true", "false", nil, nil),
        (1, nil, 990, "false", "true", nil, nil),
        (1, nil, nil, "false", "true", nil, nil),
        (2, "FREE_TRIAL", 0, "true", "false", "id", nil),
        (2, "PAY_AS_YOU_GO", 1, "false", "false", "id", nil),
        (3, "FREE_TRIAL", 0, "true", "false", nil, "id"),
        (3, "PAY_UP_FRONT", 1, "false", "false", nil, "id"),
        (4, "FREE_TRIAL", 0, "true", "false", nil, nil),
        (4, "PAY_AS_YOU_GO", 1, "false", "false", nil, nil),
    ]

    @Test("An offer is expressed by four keys", arguments: offers)
    func offer(
        type: Int64?, discount: String?, price: Int64?, trial: String, intro: String, promotional: String?,
        code: String?
    ) throws {
        let row = try #require(
            rows(
                answer(
                    .app(appReceipt()),
                    records([
                        transaction("500000000000002") {
                            $0.offerType = type
                            $0.offerDiscountType = discount
                            $0.price = price
                            $0.offerIdentifier = type == 1 ? nil : "id"
                        }
                    ]))
            ).first)
        #expect(row["is_trial_period"] == trial)
        #expect(row["is_in_intro_offer_period"] == intro)
        #expect(row["promotional_offer_id"] == promotional)
        #expect(row["offer_code_ref_name"] == code)
    }

    @Test("A purchase that does not renew has only the keys of such a purchase")
    func oneTime() throws {
        let all = try answer(
            .app(appReceipt()),
            records([
                transaction("500000000000002"),
                transaction("500000000000009", of: "500000000000009", type: "Non-Consumable", day: 1) {
                    $0.revocationDate = Timestamp(milliseconds: 1_673_500_000_586)
                    $0.revocationReason = 1
                },
            ]))
        let row = try #require(rows(all).first)
        #expect(
            Set(row.keys) == [
                "quantity", "product_id", "transaction_id", "original_transaction_id", "purchase_date",
                "purchase_date_ms", "purchase_date_pst", "original_purchase_date", "original_purchase_date_ms",
                "original_purchase_date_pst", "is_trial_period", "in_app_ownership_type", "cancellation_date",
                "cancellation_date_ms", "cancellation_date_pst", "cancellation_reason",
            ])
        #expect(row["cancellation_date_ms"] == "1673500000586")
        #expect(row["cancellation_reason"] == "1")
    }

    @Test("A consumable is included only as long as the receipt lists it, and its refund never is")
    func consumables() throws {
        var listed = lifetime("500000000000020", type: .consumable)
        listed.cancellationDate = nil
        let all = try answer(
            .app(appReceipt(purchases: [listed])),
            records([
                transaction("500000000000002"),
                transaction("500000000000020", of: "500000000000020", type: "Consumable", day: 1) {
                    $0.revocationDate = Timestamp(seconds: 1_673_500_000)
                    $0.revocationReason = 0
                },
                transaction("500000000000021", of: "500000000000021", type: "Consumable", day: 2),
            ]))
        #expect(rows(all).map { $0["transaction_id"] } == ["500000000000020", "500000000000002"])
        #expect(rows(all).allSatisfy { $0["cancellation_date"] == nil && $0["cancellation_reason"] == nil })
        #expect(rows(all, "in_app").allSatisfy { $0["cancellation_date"] == nil })
    }

    @Test("A refund is added to the row of in_app by transaction id, otherwise by web order line item id")
    func refundInReceipt() throws {
        var renamed = month("500000000000099")
        renamed.webOrderLineItemId = 777
        let all = try answer(
            .app(appReceipt(purchases: [month("500000000000002"), renamed, lifetime("500000000000005")])),
            records([
                transaction("500000000000002") { $0.revocationDate = Timestamp(seconds: 1_673_100_000) },
                transaction("500000000000044") {
                    $0.webOrderLineItemId = "777"
                    $0.revocationDate = Timestamp(seconds: 1_673_200_000)
                    $0.revocationReason = 1
                },
                transaction("500000000000005", of: "500000000000005", type: "Non-Consumable"),
            ]))
        let inApp = rows(all, "in_app")
        #expect(inApp.map { $0["cancellation_date_ms"] } == ["1673100000000", "1673200000000", nil])
        #expect(inApp.map { $0["cancellation_reason"] } == [nil, "1", nil])
    }

    @Test("Without an auto-renewable subscription there are latest_* keys only for purchases and a correct password")
    func nothingRenews() throws {
        let bought = records([transaction("500000000000009", of: "500000000000009", type: "Non-Consumable")])
        let receipt = ReceiptContents.app(appReceipt(purchases: [month("1")]))
        let plain: Set = ["status", "environment", "receipt"]
        #expect(Set(try answer(receipt, bought).keys) == plain)
        let finished = records([transaction("500000000000009", type: "Consumable")])
        #expect(Set(try answer(.app(appReceipt()), finished, options: .init(latest: .ofPurchases)).keys) == plain)
        for receipt in [receipt, .app(appReceipt())] {
            let all = try answer(receipt, bought, options: .init(latest: .ofPurchases))
            #expect(Set(all.keys) == plain.union(["latest_receipt_info", "latest_receipt"]))
            #expect(rows(all).map { $0["transaction_id"] } == ["500000000000009"])
        }
        let renewing = records([transaction("500000000000002")])
        #expect(Set(try answer(receipt, renewing, options: .init(latest: .omitted)).keys) == plain)
    }

    /// What a history has beside refunded consumables, with the ids that `latest_receipt_info` shows of it.
    private static let rest: [(name: String, type: String?, ids: [String])] = [
        ("nothing", nil, []), ("a lifetime unlock", "Non-Consumable", ["500000000000900"]),
        ("a subscription", "Auto-Renewable Subscription", ["500000000000900"]),
        ("a non-renewing subscription", "Non-Renewing Subscription", ["500000000000900"]),
        ("a finished consumable", "Consumable", []), ("a new type", "Season Pass", ["500000000000900"]),
    ]

    @Test(
        "What is dropped from a receipt never hides what its customer has beside it, whatever shortens the list",
        arguments: [true, false], [false, true])
    func dropped(drops: Bool, isThinned: Bool) throws {
        var options = AnswerOptions(latest: .ofPurchases)
        options.excludesOldTransactions = isThinned
        for (name, type, ids) in Self.rest {
            for coins in [0, 1, 2, 150] {
                let coinIds = (0..<coins).map { "\(500_000_000_000_100 + $0)" }
                let receipt = appReceipt(purchases: coinIds.map { lifetime($0, of: "coins", type: .consumable) })
                let refunds = coinIds.enumerated().map { index, id in
                    transaction(id, of: id, type: "Consumable", day: Int64(index)) {
                        $0.productId = "com.example.reader.coins"
                        $0.revocationDate = Timestamp(seconds: 1_673_100_000)
                    }
                }
                let other = type.map { transaction("500000000000900", of: "500000000000900", type: $0, day: 200) }
                let history = records(refunds + [other].compactMap(\.self))
                let all = try answer(.app(receipt), history, options: options, dropsRefundedConsumables: drops)
                let kept = drops ? [] : coinIds
                // The newest one first, because the receipt is of production.
                let shown = Array(((isThinned ? kept.suffix(1) : kept[...]) + ids).suffix(100).reversed())
                let place: Comment = "\(name), \(coins) coins"
                #expect(rows(all, "in_app").map { $0["transaction_id"] } == kept, place)
                #expect(rows(all).map { $0["transaction_id"] } == shown, place)
                // Apple has both members where the receipt lists a purchase, an empty list included.
                #expect((all["latest_receipt_info"] != nil) == (coins > 0 || !ids.isEmpty), place)
                #expect((all["latest_receipt"] != nil) == (all["latest_receipt_info"] != nil), place)
                #expect((all["pending_renewal_info"] != nil) == (type == "Auto-Renewable Subscription"), place)
            }
        }
    }

    @Test("The receipt alone drops nothing")
    func droppedWithoutRecords() throws {
        let receipt = appReceipt(purchases: [lifetime("500000000000100", of: "coins", type: .consumable)])
        let all = try answer(
            .app(receipt), nil, options: AnswerOptions(latest: .ofPurchases), dropsRefundedConsumables: true)
        #expect(rows(all).map { $0["transaction_id"] } == ["500000000000100"])
    }

    @Test("The newest 100 rows are kept, in either order, and on request one for each subscription and other product")
    func order() throws {
        let periods = (0..<130).map { transaction("\(500_000_000_000_100 + $0)", day: Int64($0)) }
        let other = transaction("500000000000900", of: "500000000000900", day: 3)
        let thing = transaction("500000000000901", of: "500000000000901", type: "Non-Consumable", day: 200)
        let known = records((periods + [other, thing]).shuffled())
        let ids = rows(try answer(.app(appReceipt()), known)).compactMap { $0["transaction_id"] }
        #expect(ids.count == 100)
        #expect(ids.first == "500000000000901")
        #expect(ids.last == "500000000000131")
        let ascending = try answer(.app(appReceipt()), known, options: .init(latestReceiptInfoOrder: .ascending))
        #expect(rows(ascending).compactMap { $0["transaction_id"] } == ids.reversed())
        let thinned = try answer(.app(appReceipt()), known, options: .init(excludesOldTransactions: true))
        #expect(
            rows(thinned).map { $0["transaction_id"] } == ["500000000000901", "500000000000229", "500000000000900"])
    }

    @Test("pending_renewal_info of a failed payment has both keys of the price consent")
    func pending() throws {
        let all = try answer(
            .app(appReceipt()),
            records(
                [transaction("500000000000002")], status: 4,
                renewal: renewal {
                    $0.expirationIntent = 2
                    $0.isInBillingRetryPeriod = true
                    $0.gracePeriodExpiresDate = Timestamp(seconds: 1_673_003_600)
                    $0.priceIncreaseStatus = 0
                }))
        #expect(
            rows(all, "pending_renewal_info") == [
                [
                    "expiration_intent": "2", "auto_renew_product_id": "com.example.reader.month",
                    "is_in_billing_retry_period": "1", "product_id": "com.example.reader.month",
                    "original_transaction_id": "500000000000002", "auto_renew_status": "1",
                    "grace_period_expires_date": "2023-01-06 11:13:20 Etc/GMT",
                    "grace_period_expires_date_ms": "1673003600000",
                    "grace_period_expires_date_pst": "2023-01-06 03:13:20 America/Los_Angeles",
                    "price_increase_status": "0", "price_consent_status": "0",
                ]
            ])
    }

    @Test(
        "The billing retry is 0 only if the subscription has ended",
        arguments: [(nil, nil), (Int64(1), "0")] as [(Int64?, String?)])
    func retry(intent: Int64?, shown: String?) throws {
        let all = try answer(
            .app(appReceipt()),
            records(
                [transaction("500000000000002")],
                renewal: renewal {
                    $0.isInBillingRetryPeriod = false
                    $0.expirationIntent = intent
                }))
        #expect(rows(all, "pending_renewal_info").first?["is_in_billing_retry_period"] == shown)
    }
}

@Suite("Response to an iOS 6 receipt, from the Server API")
struct FlatRecordsAnswerTests {
    private static let submitted = purchaseInfo([
        "bid": "com.example.reader", "bvrs": "42", "item-id": "1600000012", "app-item-id": "9",
        "version-external-identifier": "860000001", "unique-identifier": "00008999-0", "quantity": "1",
        "unique-vendor-identifier": "A1B2", "product-id": "com.example.reader.month",
        "transaction-id": "500000000000002", "original-transaction-id": "500000000000002",
        "web-order-line-item-id": "9500000000000002", "expires-date": "1675592000000",
        "purchase-date-ms": "1673000000000",
    ])

    @Test("An active subscription and one in its grace period have status 0 and the newest row", arguments: [1, 4])
    func active(status: Int) throws {
        let all = try answer(
            .transaction(Self.submitted),
            records(
                [
                    transaction("500000000000002"),
                    transaction("500000000000003", day: 30) {
                        $0.offerType = 2
                        $0.offerIdentifier = "summer"
                        $0.isUpgraded = true
                        $0.appAccountToken = "token"
                    },
                ], status: status))
        #expect(
            Set(all.keys) == [
                "status", "receipt", "latest_receipt_info", "latest_receipt", "auto_renew_status",
                "auto_renew_product_id",
            ])
        #expect(all["status"] as? Int == 0)
        #expect(all["auto_renew_status"] as? Int == 1)
        #expect(
            all["latest_receipt_info"] as? [String: String] == [
                "original_purchase_date": "2023-01-06 10:13:20 Etc/GMT", "original_purchase_date_ms": "1673000000000",
                "original_purchase_date_pst": "2023-01-06 02:13:20 America/Los_Angeles",
                "purchase_date": "2023-02-05 10:13:20 Etc/GMT", "purchase_date_ms": "1675592000000",
                "purchase_date_pst": "2023-02-05 02:13:20 America/Los_Angeles", "unique_identifier": "00008999-0",
                "unique_vendor_identifier": "A1B2", "original_transaction_id": "500000000000002",
                "transaction_id": "500000000000003", "expires_date": "1678184000000",
                "expires_date_formatted": "2023-03-07 10:13:20 Etc/GMT",
                "expires_date_formatted_pst": "2023-03-07 02:13:20 America/Los_Angeles", "quantity": "1",
                "product_id": "com.example.reader.month", "item_id": "1600000012", "app_item_id": "1500000001",
                "bid": "com.example.reader", "bvrs": "42", "web_order_line_item_id": "9500000000000003",
                "subscription_group_identifier": "20500001", "is_trial_period": "false",
                "is_in_intro_offer_period": "false", "in_app_ownership_type": "PURCHASED",
            ])
    }

    @Test("A table of one's own can give the latest object what Apple's never had")
    func added() throws {
        let tables = try FieldTableTests.tables(adding: [
            "flat-transaction.json": [
                ("promotional_offer_id", "promotionalOfferId", "text"),
                ("app_account_token", "appAccountToken", "text"), ("is_upgraded", "isUpgraded", "flagAsText"),
            ]
        ])
        let row = transaction("500000000000003") {
            ($0.offerType, $0.offerIdentifier, $0.isUpgraded, $0.appAccountToken) = (2, "summer", true, "token")
        }
        let all = try answer(.transaction(Self.submitted), records([row]), tables: tables)
        let latest = all["latest_receipt_info"] ?? all["latest_expired_receipt_info"]
        let values = try #require(latest as? [String: String])
        #expect(values["promotional_offer_id"] == "summer" && values["app_account_token"] == "token")
        #expect(values["is_upgraded"] == "true")
    }

    @Test("A status that is not known is what the newest period says", arguments: [-1, 0, 6, Int.max])
    func unknown(status: Int) throws {
        for (day, isRevoked, expected) in [(0, false, 21006), (220, false, 0), (220, true, 21006)]
            as [(Int64, Bool, Int)]
        {
            let newest = transaction("500000000000003", day: day) {
                $0.revocationDate = isRevoked ? Timestamp(seconds: 1_673_100_000) : nil
            }
            let history = records([transaction("500000000000002", day: -30), newest], status: status)
            let all = try answer(.transaction(Self.submitted), history)
            #expect(all["status"] as? Int == expected, "day \(day)")
            let key = expected == 0 ? "latest_receipt_info" : "latest_expired_receipt_info"
            #expect((all[key] as? [String: String])?["transaction_id"] == "500000000000003")
        }
    }

    @Test("A subscription in any other state has status 21006 and the reasons", arguments: [2, 3, 5])
    func expired(status: Int) throws {
        let all = try answer(
            .transaction(Self.submitted),
            records(
                [transaction("500000000000002") { $0.productId = "com.example.reader.year" }], status: status,
                renewal: renewal {
                    $0.autoRenewStatus = 0
                    $0.expirationIntent = 1
                    $0.isInBillingRetryPeriod = false
                }, appAppleId: nil))
        #expect(
            Set(all.keys) == [
                "status", "receipt", "latest_expired_receipt_info", "auto_renew_status", "auto_renew_product_id",
                "expiration_intent", "is_in_billing_retry_period",
            ])
        #expect(all["status"] as? Int == 21006)
        #expect(all["auto_renew_status"] as? Int == 0)
        #expect(all["expiration_intent"] as? String == "1")
        #expect(all["is_in_billing_retry_period"] as? String == "0")
        let latest = all["latest_expired_receipt_info"] as? [String: String]
        #expect(latest?["item_id"] == nil, "another product's id is not the one in the receipt")
        #expect(latest?["app_item_id"] == "9")
    }

    @Test(
        "A refunded subscription has date and reason in both objects and at the top level, if it is over",
        arguments: [1, 5])
    func refundedSubscription(status: Int) throws {
        let all = try answer(
            .transaction(Self.submitted),
            records(
                [
                    transaction("500000000000002") {
                        $0.revocationDate = Timestamp(seconds: 1_673_100_000)
                        $0.revocationReason = 0
                    }
                ], status: status))
        let latest = all[status == 1 ? "latest_receipt_info" : "latest_expired_receipt_info"]
        for row in [all["receipt"], latest].map({ $0 as? [String: String] }) {
            #expect(row?["cancellation_date_ms"] == "1673100000000" && row?["cancellation_reason"] == "0")
        }
        #expect(all["cancellation_date"] as? String == (status == 1 ? nil : "2023-01-07 14:00:00 Etc/GMT"))
        #expect(all["cancellation_reason"] as? String == (status == 1 ? nil : "0"))
        #expect(all["cancellation_date_ms"] == nil)
    }

    @Test("The refund of its own transaction is shown with its reason, and the refund of a consumable is not")
    func refund() throws {
        let revoke: (inout TransactionPayload) -> Void = {
            $0.revocationDate = Timestamp(seconds: 1_673_100_000)
            $0.revocationReason = 1
        }
        for (type, shown) in [("Non-Consumable", "1673100000000"), ("Consumable", nil)] {
            let all = try answer(
                .transaction(Self.submitted),
                records([transaction("500000000000002", type: type, revoke)], renewal: nil))
            let receipt = all["receipt"] as? [String: String]
            #expect(Set(all.keys) == ["status", "receipt"])
            #expect(receipt?["cancellation_date_ms"] == shown)
            #expect(receipt?["cancellation_reason"] == shown.map { _ in "1" })
        }
    }
}
