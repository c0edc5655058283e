import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeResponses
import Testing

@Suite("Customer view")
struct CustomerViewTests {
    private func transaction(
        _ id: String, at milliseconds: Int64, token: String? = nil, claims: String? = nil
    ) -> Signed<TransactionPayload> {
        var payload = TransactionPayload()
        payload.transactionId = id
        payload.purchaseDate = Timestamp(milliseconds: milliseconds)
        payload.appAccountToken = token
        payload.claims = Array((claims ?? #"{"transactionId":"\#(id)"}"#).utf8)
        return Signed(payload: payload, text: "jws-\(id)")
    }

    private func render(
        _ transactions: [Signed<TransactionPayload>], _ subscriptions: [SubscriptionRecord] = [],
        appAppleId: Int64? = 5, configured: Int64? = 7
    ) throws -> String {
        let bundleId = try #require(BundleIdentifier(rawValue: "com.example.reader"))
        let records = CustomerRecords(
            environment: .production, bundleId: "com.example.reader", appAppleId: appAppleId,
            transactions: transactions, subscriptions: subscriptions, revision: nil)
        return text(
            CustomerViewRenderer(tables: .bundled).render(
                CustomerView(
                    bundleId: bundleId, records: records, configuredAppAppleId: configured, verifiedAt: summer)))
    }

    @Test("Transactions are in ascending order of date and id, and the first account token is used")
    func order() throws {
        let view = try render([
            transaction("1000", at: 2, token: "late"), transaction("99", at: 2), transaction("7", at: 1),
            transaction("100", at: 2, token: "first"),
        ])
        #expect(
            view == #"{"bundleId":"com.example.reader","appAppleId":5,"environment":"Production","source":"api","#
                + #""appAccountToken":"first","receipt":null,"subscriptions":[],"transactions":["#
                + #"{"transactionId":"7"},{"transactionId":"99"},{"transactionId":"100"},{"transactionId":"1000"}],"#
                + #""signedTransactions":["jws-7","jws-99","jws-100","jws-1000"],"appTransaction":null,"#
                + #""verifiedAt":1691999446123}"#)
    }

    @Test("Signed claims are unchanged, and absent values have no keys")
    func claims() throws {
        let claims = #"{ "transactionId" : "1","new":{"a":[1.50,null]} }"#
        var latest = TransactionPayload()
        latest.productId = "month"
        latest.expiresDate = Timestamp(milliseconds: 9)
        var renewal = RenewalPayload()
        renewal.claims = Array(#"{"autoRenewStatus":1,"new":true}"#.utf8)
        let view = try render(
            [transaction("1", at: 1, claims: claims)],
            [
                SubscriptionRecord(
                    subscriptionGroupIdentifier: "20", originalTransactionId: "1", status: 3,
                    transaction: Signed(payload: latest, text: "t"), renewal: Signed(payload: renewal, text: "r")),
                SubscriptionRecord(
                    subscriptionGroupIdentifier: nil, originalTransactionId: "2", status: 5, transaction: nil,
                    renewal: nil),
            ], appAppleId: nil, configured: nil)
        #expect(
            view == #"{"bundleId":"com.example.reader","environment":"Production","source":"api","receipt":null,"#
                + #""subscriptions":[{"subscriptionGroupIdentifier":"20","originalTransactionId":"1","status":3,"#
                + #""productId":"month","expiresDate":9,"introductoryOfferUsed":false,"renewalInfo":{"autoRenewStatus":1,"new":true}},"#
                + #"{"originalTransactionId":"2","status":5,"introductoryOfferUsed":false}],"transactions":[\#(claims)],"#
                + #""signedTransactions":["jws-1"],"appTransaction":null,"verifiedAt":1691999446123}"#)
    }

    /// A period of a subscription in a group.
    private func period(
        _ original: String, group: String?, offer: Int64? = nil, migratedFrom previous: String? = nil
    ) -> Signed<TransactionPayload> {
        var payload = transaction(original, at: 1).payload
        payload.originalTransactionId = original
        payload.subscriptionGroupIdentifier = group
        payload.offerType = offer
        payload.previousOriginalTransactionId = previous
        return Signed(payload: payload, text: "jws")
    }

    private func used(
        _ transactions: [Signed<TransactionPayload>], _ subscriptions: [(id: String, group: String?)]
    ) throws -> [String] {
        let view = try render(
            transactions,
            subscriptions.map {
                SubscriptionRecord(
                    subscriptionGroupIdentifier: $0.group, originalTransactionId: $0.id, status: 1, transaction: nil,
                    renewal: nil)
            })
        return subscriptions.map(\.id).filter {
            view.contains(#""originalTransactionId":"\#($0)","status":1,"introductoryOfferUsed":true"#)
        }
    }

    @Test("An introductory offer counts for all subscriptions of its group, and only an introductory one")
    func introductoryOffers() throws {
        let history = [
            period("1", group: "20", offer: 1), period("2", group: "20"), period("3", group: "30", offer: 2),
            period("4", group: nil, offer: 1),
        ]
        #expect(try used(history, [("1", "20"), ("2", "20"), ("3", "30"), ("4", nil), ("5", nil)]) == ["1", "2", "4"])
    }

    @Test("A migrated subscription has used the introductory offer of the one before it, over several migrations")
    func migratedOffers() throws {
        let history = [
            period("3", group: "50", migratedFrom: "2"), period("2", group: "40", migratedFrom: "1"),
            period("1", group: "20", offer: 1), period("4", group: "60", migratedFrom: "9"),
            period("5", group: "70", migratedFrom: "5"),
        ]
        let subscriptions = [("1", "20"), ("2", "40"), ("3", "50"), ("4", "60"), ("5", "70"), ("6", "50")]
        #expect(try used(history, subscriptions.map { ($0, $1) }) == ["1", "2", "3", "6"])
    }

    @Test("The app transaction is the signed payload unchanged")
    func appTransaction() throws {
        let bundleId = try #require(BundleIdentifier(rawValue: "com.example.reader"))
        var payload = AppTransactionPayload()
        payload.claims = Array(#"{"appTransactionId":"704", "new":[1]}"#.utf8)
        let records = CustomerRecords(
            environment: .production, bundleId: nil, appAppleId: nil, transactions: [], subscriptions: [], revision: nil
        )
        let view = text(
            CustomerViewRenderer(tables: .bundled).render(
                CustomerView(
                    bundleId: bundleId, records: records, appTransaction: Signed(payload: payload, text: "jws"),
                    configuredAppAppleId: nil, verifiedAt: summer)))
        #expect(
            view.contains(#""signedTransactions":[],"appTransaction":{"appTransactionId":"704", "new":[1]},"verif"#))
    }

    private func rows(_ receipt: ReceiptContents, _ environment: AppStoreEnvironment = .production) throws -> String {
        let bundleId = try #require(BundleIdentifier(rawValue: "com.example.reader"))
        let history = PurchaseHistory(
            receipt: receipt, environment: environment, submittedText: Redacted(Array("MIIsubmitted==".utf8)))
        let view = text(
            CustomerViewRenderer(tables: .bundled).render(
                CustomerView(history: history, bundleId: bundleId, configuredAppAppleId: nil, verifiedAt: summer)))
        #expect(view.contains(#""source":"receipt""#) && view.contains(#""subscriptions":[],"transactions":["#))
        let begin = try #require(view.firstRange(of: #""transactions":["#))
        let end = try #require(view.firstRange(of: #"],"signedTransactions":null"#))
        return String(view[begin.upperBound..<end.lowerBound])
    }

    @Test("The view from a receipt uses Apple's names and adds the environment and the app")
    func receiptRows() throws {
        var bought = lifetime()
        bought.productAppleId = 1_600_000_011
        bought.unknownAttributes = [UnknownAttribute(type: 1724, value: [12, 0])]
        var shared = month("500000000000009")
        shared.ownershipType = 1
        shared.cancellationDate = summer
        shared.cancellationReason = 1
        #expect(
            try rows(.app(appReceipt(purchases: [shared, bought])), .sandbox) == """
                {"quantity":1,"productId":"com.example.reader.lifetime","transactionId":"500000000000001",\
                "originalTransactionId":"500000000000001","purchaseDate":1673000000000,\
                "originalPurchaseDate":1673000000000,"type":"Non-Consumable","bundleId":"com.example.reader",\
                "environment":"Sandbox"},{"quantity":1,"productId":"com.example.reader.month",\
                "transactionId":"500000000000009","originalTransactionId":"500000000000002",\
                "purchaseDate":1673000000000,"originalPurchaseDate":1673000000000,"expiresDate":1675592000000,\
                "revocationDate":1691999446123,"webOrderLineItemId":"500000000000777","revocationReason":1,\
                "inAppOwnershipType":"FAMILY_SHARED","type":"Auto-Renewable Subscription",\
                "bundleId":"com.example.reader","environment":"Sandbox"}
                """)
    }

    /// Attributes 1713, 1719 and 1721, and the members of the row.
    static let offers: [([Int64?], String?, String)] = [
        ([0, 0], nil, ""), ([nil, nil], nil, ""), ([0, 1], nil, #","offerType":1"#),
        ([1, 0], nil, #","offerType":1,"offerDiscountType":"FREE_TRIAL""#),
        ([1, 1], nil, #","offerType":1,"offerDiscountType":"FREE_TRIAL""#),
        ([0, 0], "spring", #","offerType":2,"offerIdentifier":"spring""#),
        ([1, 0], "spring", #","offerType":2,"offerIdentifier":"spring","offerDiscountType":"FREE_TRIAL""#),
        // A redeemed offer code, whose name is not in the receipt.
        ([0, 0], "2f1e0d9c-8b7a-4c5d-9e6f-0a1b2c3d4e5f", #","offerType":3"#),
    ]

    @Test("The view from a receipt expresses offers by type, identifier and discount", arguments: offers)
    func receiptOffers(flags: [Int64?], promotional: String?, expected: String) throws {
        var purchase = month("500000000000009")
        purchase.isTrialPeriod = flags[0]
        purchase.isInIntroOfferPeriod = flags[1]
        purchase.promotionalOfferId = promotional
        let row = try rows(.app(appReceipt(purchases: [purchase])))
        let end = #","bundleId":"com.example.reader","environment":"Production"}"#
        #expect(row.hasSuffix(#""type":"Auto-Renewable Subscription""# + expected + end), "\(row)")
    }

    /// Product types of attribute 1707, and Apple's names for them.
    static let types: [(Int64, String?)] = [
        (0, "Non-Consumable"), (1, "Consumable"), (2, "Non-Renewing Subscription"),
        (3, "Auto-Renewable Subscription"), (4, nil), (77, nil),
    ]

    @Test("The view from a receipt names the product types that Apple's API has", arguments: types)
    func receiptTypes(rawValue: Int64, name: String?) throws {
        let row = try rows(.app(appReceipt(purchases: [lifetime(type: .init(rawValue: rawValue))])))
        if let name { #expect(row.contains(#""type":"\#(name)""#)) } else { #expect(!row.contains("type")) }
    }

    @Test("The view from an iOS 6 receipt has its single transaction with the same names")
    func flatRow() throws {
        let receipt = purchaseInfo([
            "purchase-date-ms": "1643096854975", "purchase-date": "2022-01-25 07:47:34 Etc/GMT",
            "transaction-id": "1000000046178817", "original-transaction-id": "1000000046178816",
            "product-id": "month", "item-id": "1500000002", "bid": "com.example.reader", "bvrs": "42",
            "quantity": "1", "expires-date": "1643128674000", "web-order-line-item-id": "0",
            "is-trial-period": "true", "is-in-intro-offer-period": "false", "unheard-of-key": "1",
        ])
        #expect(
            try rows(.transaction(receipt), .sandbox) == """
                {"purchaseDate":1643096854975,"expiresDate":1643128674000,"transactionId":"1000000046178817",\
                "originalTransactionId":"1000000046178816","productId":"month","quantity":1,"offerType":1,\
                "offerDiscountType":"FREE_TRIAL","type":"Auto-Renewable Subscription",\
                "bundleId":"com.example.reader","environment":"Sandbox"}
                """)
        let nothing = #"{"bundleId":"com.example.reader","environment":"Production"}"#
        #expect(try rows(.transaction(purchaseInfo([:]))) == nothing)
    }
}
