import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("App transactions of the simulator")
struct AppTransactionTests {
    private static let path = "v1/transactions/appTransactions"

    private func payload(
        _ store: SimulatedStore, _ id: String, in environment: AppStoreEnvironment = .production
    ) throws -> JSONValue {
        let answer = try #require(try store.ask("\(Self.path)/\(id)", in: environment).body)
        #expect(keys(answer) == ["signedAppTransactionInfo"])
        return try decoded(answer["signedAppTransactionInfo"])
    }

    @Test("Get App Transaction Info has every documented field, for any id of the customer")
    func fields() throws {
        let store = try SharedSimulator.store(customers: 40)
        let customer = try store.customer(.activeSubscription)
        let ids = customer.transactions.map(\.transactionId) + [customer.appTransactionId]
        for id in ids {
            let row = try payload(store, id)
            #expect(
                keys(row) == [
                    "receiptType", "appAppleId", "bundleId", "receiptCreationDate", "originalPurchaseDate",
                    "originalApplicationVersion", "appTransactionId", "originalPlatform",
                ])
            expect(
                row,
                has: [
                    "receiptType": "Production", "receiptCreationDate": SharedSimulator.noon.milliseconds,
                    "appTransactionId": customer.appTransactionId, "originalPlatform": "iOS",
                ])
        }
        let tester = try store.customer(.activeSubscription, .sandbox)
        let sandbox = try payload(store, tester.appTransactionId, in: .sandbox)
        expect(sandbox, has: ["appAppleId": nil, "receiptType": "Sandbox", "originalApplicationVersion": "1.0"])
    }

    @Test("A pre-order has its date")
    func preOrder() throws {
        let store = try SharedSimulator.store(customers: 86, options: .init(preOrders: true))
        let customer = try store.customer(.preOrdered)
        let date = try #require(customer.preorderDate).milliseconds
        #expect(try payload(store, customer.appTransactionId)["preorderDate"] == .number(date))
    }

    @Test("Malformed and unknown ids, and customers without an app transaction, have their own errors")
    func errors() throws {
        let store = try SharedSimulator.store(customers: 40, options: .init(newestFields: true))
        #expect(try store.code("\(Self.path)/abc") == 4_000_006)
        #expect(try store.code("\(Self.path)/123456789012345") == 4_040_010)
        let mac = try store.customer(.billedUpfront)
        #expect(try payload(store, mac.appTransactionId)["originalPlatform"]?.text == "macOS")
        let customer = try store.customer(.withoutAppTransaction)
        let id = try #require(customer.transactions.first).transactionId
        #expect(try store.code("\(Self.path)/\(id)") == 4_040_019)
        #expect(try store.code("\(Self.path)/\(customer.appTransactionId)") == 4_040_010)
        for row in try store.history(of: id).rows { #expect(row["appTransactionId"] == nil) }
    }

    @Test("The app transaction of a device can be checked against the device's identifier")
    func device() throws {
        let store = try SharedSimulator.store(customers: 40)
        for environment in [AppStoreEnvironment.production, .sandbox] {
            let customer = try store.customer(.activeSubscription, environment)
            let signed = try #require(try store.signedAppTransaction(of: customer))
            let row = try decoded(.string(signed))
            let nonce = try #require(row["deviceVerificationNonce"]?.text)
            let digest = SHA.digest(Array((nonce + customer.vendorIdentifier.lowercased()).utf8), with: .sha384)
            #expect(row["deviceVerification"]?.text == Base64.encode(digest))
            #expect(row["applicationVersion"]?.text == "42")
            #expect(row["versionExternalIdentifier"]?.integer != nil)
            #expect(row["appTransactionId"]?.text == customer.appTransactionId)
        }
    }

    @Test("An app transaction id finds history, statuses, refunds and app transaction, and no single transaction")
    func appTransactionId() throws {
        let store = try SharedSimulator.store(customers: 40)
        let customer = try store.customer(.refundedNonConsumable)
        let id = customer.appTransactionId
        for path in ["v2/history", "v1/history", "v1/subscriptions", "v2/refund/lookup", Self.path] {
            #expect(try store.ask("\(path)/\(id)").status == 200, "\(path)")
        }
        #expect(try store.history(of: id).rows.count == customer.transactions.count)
        #expect(try store.code("v1/transactions/\(id)") == 4_000_048)
        #expect(try store.code("v2/history/\(id)", in: .sandbox) == 4_040_010)
    }

    @Test("The records on a customer's device are served over HTTP")
    func records() async throws {
        try await serving(customers: 4) { store, client in
            let customer = try #require(store.world.customers.first)
            #expect(try await client.send("GET", "/customers/c999999").status == 404)
            let document = try await client.send("GET", "/customers/\(customer.id)").json
            #expect(
                keys(document) == [
                    "id", "environment", "appTransactionId", "signedAppTransaction", "signedTransactions",
                    "signedRenewalInfos",
                ])
            let rows = try #require(document["signedTransactions"]?.elements).map(decoded)
            #expect(rows.compactMap { $0["transactionId"]?.text } == customer.transactions.map(\.transactionId))
            #expect(document["signedRenewalInfos"]?.elements?.count == customer.renewals.count)
        }
    }
}
