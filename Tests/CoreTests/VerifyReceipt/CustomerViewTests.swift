import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Customer view")
struct CustomerViewTests {
    @Test("A transaction id returns the whole history, for every simulated customer")
    func everyCustomer() async throws {
        try await CustomerViews.serving { views in
            for customer in views.store.world.customers {
                guard let last = customer.transactions.last else { continue }
                let view = try await views.ask(id: last.transactionId)
                #expect(view["bundleId"]?.text == SimulatedApp.first.bundleId, "\(customer.id)")
                #expect(view["appAppleId"]?.integer == SimulatedApp.first.appAppleId)
                #expect(view["environment"]?.text == customer.environment.rawValue)
                #expect(view["source"]?.text == "api" && view["receipt"] == .null)
                #expect(view["verifiedAt"]?.integer == SharedSimulator.noon.milliseconds)

                let expected = customer.transactions.sorted {
                    ($0.purchaseDate, Int64($0.transactionId) ?? 0) < ($1.purchaseDate, Int64($1.transactionId) ?? 0)
                }
                let rows = view["transactions"]?.elements ?? []
                #expect(rows == expected.map { $0.row(customer.environment, signedDate: SharedSimulator.noon) })
                #expect(view["signedTransactions"]?.elements?.count == rows.count)
                #expect(view["appAccountToken"]?.text == expected.lazy.compactMap(\.appAccountToken).first)

                let subscriptions = view["subscriptions"]?.elements ?? []
                let originals = Set(customer.transactions.filter(\.isAutoRenewable).map(\.originalTransactionId))
                #expect(Set(subscriptions.compactMap { $0["originalTransactionId"]?.text }) == originals)
                for subscription in subscriptions {
                    #expect((1...5).contains(subscription["status"]?.integer ?? 0))
                    #expect(subscription["productId"]?.text != nil && subscription["expiresDate"]?.integer != nil)
                    #expect(subscription["subscriptionGroupIdentifier"]?.text != nil)
                    #expect(subscription["renewalInfo"]?["autoRenewStatus"]?.integer != nil)
                    let group = subscription["subscriptionGroupIdentifier"]
                    let isUsed = rows.contains {
                        $0["subscriptionGroupIdentifier"] == group && $0["offerType"] == .number(1)
                    }
                    #expect(subscription["introductoryOfferUsed"] == .bool(isUsed), "\(customer.id)")
                }
            }
        }
    }

    @Test("A receipt or a signed transaction is found in the body that a client library makes of it")
    func libraryBodies() async throws {
        try await CustomerViews.serving(customers: 1) { views in
            let customer = try views.store.customer(.activeSubscription)
            let transaction = try #require(customer.transactions.first)
            let receipt = try #require(views.store.receipts.first { $0.plan.style == "appReceipt" }).base64
            let bytes = try #require(ReceiptBridgeSimulator.Base64.decode(receipt))
            let jws = try views.signed(transaction)
            let buffer = #"{"type":"Buffer","data":[\#(bytes.map { "\($0)" }.joined(separator: ","))]}"#
            for body in [
                #"{"receiptData":\#(buffer)}"#, #"{"receiptData":"{\"r\":\"\#(receipt)\"}"}"#,
                #"{"id":"com.example.app","transaction":{"type":"ios-appstore","appStoreReceipt":"\#(receipt)"}}"#,
                "receipt-data=\(ReceiptEncodingVariant.percentEncoded(receipt))&password=x",
                #"{"receiptData":"\#(jws)"}"#, #"{"productId":"p","purchaseToken":"\#(jws)"}"#,
            ] {
                let view = try views.json(await views.service.view(body: Array(body.utf8)))
                #expect(view["transactions"]?.elements?.isEmpty == false, "\(body.prefix(60))")
            }
            let renewal = await views.failure {
                let jws = try SharedSimulator.pki.jwsSigner.jws(payload: .object(["autoRenewStatus": .number(1)]))
                return try await $0.ask(jws)
            }
            #expect(renewal == "400 notASignedTransaction")
        }
    }

    @Test("An app without a key gets a view of the receipt alone, with source receipt")
    func withoutKey() async throws {
        try await CustomerViews.serving(CustomerViews.noKey) { views in
            for kind in [CustomerKind.longHistory, .oldActiveSubscription] {
                let customer = try views.store.customer(kind)
                let receipt = try #require(views.store.receipts(of: customer).first)
                let view = try await views.ask(receipt.base64)
                #expect(view["source"]?.text == "receipt" && view["signedTransactions"] == .null, "\(kind)")
                #expect(view["subscriptions"] == .array([]))
                let rows = view["transactions"]?.elements ?? []
                #expect(rows.count == receipt.transactions.count && !rows.isEmpty)
                let dates = rows.compactMap { $0["purchaseDate"]?.integer }
                #expect(dates.count == rows.count && dates == dates.sorted())
                for row in rows {
                    #expect(row["bundleId"]?.text == SimulatedApp.first.bundleId, "\(kind)")
                    #expect(row["environment"]?.text == customer.environment.rawValue, "\(kind)")
                    #expect(row["webOrderLineItemId"]?.text != "0", "\(kind)")
                    for key in ["isTrialPeriod", "isInIntroOfferPeriod", "promotionalOfferId", "productAppleId"] {
                        #expect(row[key] == nil, "\(kind): \(key)")
                    }
                }
            }
            let transaction = try #require(try views.store.customer(.activeSubscription).transactions.first)
            #expect(
                await views.failure { try await $0.ask(id: transaction.transactionId) } == "404 serverAPINotConfigured")
            let signed = try views.signed(transaction)
            #expect(await views.failure("signedTransaction", signed) == "404 serverAPINotConfigured")
            #expect(views.store.requests.total == 0)
        }
    }

    @Test("The Server API is not called for a receipt without purchases")
    func noPurchases() async throws {
        try await CustomerViews.serving { views in
            let receipt = try views.store.receipt(.noPurchases)
            let view = try await views.ask(receipt.base64)
            #expect(view["source"]?.text == "receipt" && view["transactions"] == .array([]))
            #expect(views.store.requests.total == 0)
        }
    }

    @Test("The receipt answers while the App Store is unavailable, unless it may be stale")
    func withoutAppStore() async throws {
        try await CustomerViews.serving { views in
            let receipt = try views.store.receipt(.activeSubscription)
            let expired = try views.store.receipt(.expiredSubscription)
            let code: [(SimulatedFault.Kind, stale: String)] = [
                (.status(500), "503 upstreamUnavailable"), (.html, "503 upstreamUnavailable"),
                (.serverAPI(.failure(code: 4_040_010, retryAfter: nil)), "404 transactionNotFound"),
            ]
            for (fault, stale) in code {
                views.store.faults.removeAll()
                views.store.faults.add(SimulatedFault(fault, endpoint: "serverAPI"))
                let view = try await views.ask(receipt.base64)
                #expect(view["source"]?.text == "receipt")
                #expect(view["transactions"]?.elements?.count == receipt.transactions.count)
                #expect(await views.failure(expired.base64) == stale)
            }
        }
    }

    @Test("A view converts to a verifyReceipt response with the status and the lists of such a response")
    func converted() async throws {
        try await CustomerViews.serving(customers: TestSize.pick(debug: 84, release: 120)) { views in
            let converter = DocumentConverter(tables: .bundled)
            for receipt in views.store.sampleReceipts {
                let view = try await views.ask(receipt.base64)
                let answer = try JSONValue(reading: try converter.snakeCase(view.bytes))
                let renews = receipt.customer.transactions.contains(where: \.isAutoRenewable)
                if receipt.plan.version != nil {
                    let status = view["subscriptions"]?.elements?.first {
                        $0["originalTransactionId"]?.text == view["receipt"]?["originalTransactionId"]?.text
                    }?["status"]?.integer
                    let expected: Int64 = status.map { [1, 4].contains($0) ? 0 : 21_006 } ?? 0
                    #expect(answer["status"]?.integer == expected, "\(receipt.id)")
                    #expect((answer["latest_receipt_info"] != nil) == (status != nil && expected == 0), "\(receipt.id)")
                } else {
                    #expect(answer["status"]?.integer == 0)
                    #expect((answer["latest_receipt_info"] != nil) == renews, "\(receipt.id)")
                    #expect((answer["pending_renewal_info"] != nil) == renews, "\(receipt.id)")
                }
            }
        }
    }

    @Test("A refund stays in the view of any receipt while the App Store is unavailable")
    func refundsStay() async throws {
        try await CustomerViews.serving(
            customers: TestSize.pick(debug: 84, release: 240),
            {
                $1.cacheSeconds = 0; $1.staleSubscription = .answer
            }
        ) { views in
            let receipts = views.store.receipts.filter { receipt in
                receipt.transactions.contains { $0.revocation != nil && $0.product.kind != .consumable }
            }
            try #require(Set(receipts.map { $0.plan.version == nil }).count == 2)
            for receipt in receipts {
                views.store.faults.removeAll()
                let revoked = try #require(
                    receipt.transactions.first { $0.revocation != nil && $0.product.kind != .consumable })
                for (fault, source) in [(nil, "api"), (SimulatedFault.Kind.status(503), "receipt")] {
                    if let fault { views.store.faults.add(SimulatedFault(fault, endpoint: "serverAPI")) }
                    let view = try await views.ask(receipt.base64)
                    #expect(view["source"]?.text == source, "\(receipt.id)")
                    let listed = view["transactions"]?.elements?.first {
                        [revoked.transactionId, revoked.receiptId].contains($0["transactionId"]?.text)
                    }
                    for row in receipt.plan.version == nil ? [listed] : [listed, view["receipt"]] {
                        #expect(
                            row?["revocationDate"]?.integer == revoked.revocation?.date.milliseconds, "\(receipt.id)")
                    }
                }
            }
        }
    }
}
