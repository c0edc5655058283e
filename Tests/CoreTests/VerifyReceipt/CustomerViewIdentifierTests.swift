import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Customer view by other signed texts and ids")
struct CustomerViewIdentifierTests {
    private static let newest = WorldOptions(newestFields: true)

    @Test("Every id, signed text and receipt of a customer gives the same view, except for the receipt object")
    func sameView() async throws {
        try await CustomerViews.serving { views in
            let customer = try views.store.customer(.activeSubscription)
            let transaction = try #require(customer.transactions.first)
            let signed = try #require(try views.store.signedAppTransaction(of: customer))
            let byReceipt = try await views.ask(receipt: views.store.receipt(.activeSubscription).base64)
            let all = [
                try await views.ask(id: transaction.transactionId, bundleId: SimulatedApp.first.bundleId),
                try await views.ask(id: customer.appTransactionId),
                try await views.ask(signedTransaction: views.signed(transaction)),
                try await views.ask(signedAppTransaction: signed),
                try await views.ask(signedRenewalInfo: views.signed(renewalOf: transaction.originalTransactionId)),
            ]
            #expect(Set(all.map(\.bytes)).count == 1)
            let expected = customer.appTransaction(receiptCreationDate: SharedSimulator.noon)
            #expect(all[0]["appTransaction"] == expected && expected != nil)
            #expect(all[0]["subscriptions"]?.elements?.isEmpty == false)
            #expect(byReceipt["receipt"]?["bundleId"]?.text == SimulatedApp.first.bundleId)
            for key in ["bundleId", "appAppleId", "environment", "source", "subscriptions", "transactions"] {
                #expect(all[0][key] != nil && all[0][key] == byReceipt[key], "\(key)")
            }
        }
    }

    @Test("The app transaction takes one call and is cached with the records, also if there is none")
    func calls() async throws {
        try await CustomerViews.serving(customers: 6, options: Self.newest) { views in
            for (kind, isKnown) in [(CustomerKind.commitment, true), (.withoutAppTransaction, false)] {
                views.store.requests.removeAll()
                let customer = try views.store.customer(kind)
                let id = try #require(customer.transactions.first).transactionId
                for _ in 0..<3 {
                    let view = try await views.ask(id: id)
                    #expect((view["appTransaction"] != .null) == isKnown, "\(kind)")
                }
                // History, statuses, app transaction.
                #expect(views.store.requests.total == 3, "\(kind)")
            }
        }
    }

    @Test("A failure of Get App Transaction Info gives null, is asked again, and denies nothing")
    func failures() async throws {
        try await CustomerViews.serving(customers: 6) { views in
            let customer = try views.store.customer(.activeSubscription)
            let id = try #require(customer.transactions.first).transactionId
            views.store.faults.add(SimulatedFault(.status(500), endpoint: "appTransactionInfo"))
            let view = try await views.ask(id: id)
            #expect(view["appTransaction"] == .null && view["source"]?.text == "api")
            views.store.faults.removeAll()
            #expect(try await views.ask(id: id)["appTransaction"] != .null)
        }
    }

    @Test("A signed app transaction of a customer without purchases gives an empty view, but only if the key is right")
    func withoutPurchases() async throws {
        try await CustomerViews.serving { views in
            let customer = try views.store.customer(.noPurchases)
            // The id alone does not tell an empty history from the key of another app.
            #expect(await views.failure { try await $0.ask(id: customer.appTransactionId) } == "502 upstreamFailed")
            let signed = try #require(try views.store.signedAppTransaction(of: customer))
            let view = try await views.ask(signedAppTransaction: signed)
            #expect(view["transactions"] == .array([]) && view["subscriptions"] == .array([]))
            #expect(view["appTransaction"]?["appTransactionId"]?.text == customer.appTransactionId)
            views.store.faults.add(SimulatedFault(.status(500), endpoint: "appTransactionInfo"))
            #expect(await views.failure { try await $0.ask(signedAppTransaction: signed) } == "502 upstreamFailed")
        }
    }

    @Test("A migrated customer has one history, and has used the introductory offer of the earlier subscription")
    func migrated() async throws {
        try await CustomerViews.serving(customers: 6, options: Self.newest) { views in
            let customer = try views.store.customer(.migrated)
            let newest = try #require(customer.transactions.last)
            #expect(newest.previousOriginalTransactionId != nil)
            let view = try await views.ask(id: newest.transactionId)
            #expect(view["transactions"]?.elements?.count == customer.transactions.count)
            let rows = view["transactions"]?.elements ?? []
            let isUsed = rows.contains { $0["offerType"] == .number(1) }
            let subscription = view["subscriptions"]?.elements?.first {
                $0["originalTransactionId"]?.text == newest.originalTransactionId
            }
            #expect(subscription?["introductoryOfferUsed"] == .bool(isUsed))
        }
    }

    // T17
    @Test("A signed renewal or app transaction is rejected if it is foreign, tampered with, of Xcode or without an id")
    func rejected() async throws {
        try await CustomerViews.serving(customers: 1) { views in
            let good = try views.signed(renewalOf: "1").split(separator: ".").map(String.init)
            let other = try views.signed(renewalOf: "2").split(separator: ".")[1]
            let foreign = try SharedSimulator.foreign.jwsSigner.jws(
                payload: .object(["originalTransactionId": .string("1"), "environment": .string("Production")]))
            for (text, expected) in [
                ("\(good[0]).\(other).\(good[2])", "422 notAuthentic"), (foreign, "422 notAuthentic"),
                (try views.signed(renewalOf: "1", environment: "Xcode"), "422 notAuthentic"),
                (try views.signed(renewalOf: "1", environment: nil), "503 unexpectedType"),
                (try views.signed(renewalOf: "0"), "400 notASignedTransaction"), ("x", "400 notASignedTransaction"),
            ] {
                #expect(await views.failure { try await $0.ask(signedRenewalInfo: text) } == expected)
            }
            func appTransaction(_ id: String?, _ bundleId: String, _ type: String) throws -> String {
                try views.store.pki.jwsSigner.jws(
                    payload: .object([
                        "bundleId": .string(bundleId), "receiptType": .string(type),
                        "receiptCreationDate": .number(SharedSimulator.noon.milliseconds),
                        "appTransactionId": id.map(JSONValue.string),
                    ]))
            }
            let bundleId = SimulatedApp.first.bundleId
            for (text, expected) in [
                (try appTransaction(nil, bundleId, "Production"), "400 notASignedTransaction"),
                (try appTransaction("../x", bundleId, "Production"), "400 notASignedTransaction"),
                (try appTransaction("704", "com.example.other", "Production"), "404 unknownApp"),
                (try appTransaction("704", bundleId, "Xcode"), "422 notAuthentic"),
                (foreign, "422 notAuthentic"),
            ] {
                #expect(await views.failure { try await $0.ask(signedAppTransaction: text) } == expected)
            }
            #expect(views.store.requests.total == 0)
        }
    }

    @Test(
        "A signed renewal does not name its app: of several configured ones that which knows it, and an unknown one is refused"
    )
    func appOfRenewal() async throws {
        let second = AppConfiguration(bundleId: BundleIdentifier(rawValue: "com.example.second"))
        try await CustomerViews.serving(customers: 6, { settings, _ in settings.apps.append(second) }) { views in
            let original = try #require(try views.store.customer(.activeSubscription).transactions.first)
                .originalTransactionId
            let signed = try views.signed(renewalOf: original)
            #expect(try await views.ask(signedRenewalInfo: signed)["source"]?.text == "api")
            #expect(
                await views.failure { try await $0.ask(signedRenewalInfo: signed, bundleId: "com.example.x") }
                    == "404 unknownApp")
            let view = try await views.ask(signedRenewalInfo: signed, bundleId: SimulatedApp.first.bundleId)
            #expect(view["source"]?.text == "api")
        }
    }
}
