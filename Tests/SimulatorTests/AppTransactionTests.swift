import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("App transactions of the simulator")
struct AppTransactionTests {
    private static let path = "v1/transactions/appTransactions"

    private func caller(_ options: WorldOptions = .init(), customers: Int = 40) throws -> ServerAPICaller {
        ServerAPICaller(
            store: try SimulatedStore(
                seed: 7, customers: customers, clock: .fixed(Shared.noon), pki: Shared.pki, options: options))
    }

    private func payload(
        _ caller: ServerAPICaller, _ id: String, in environment: AppStoreEnvironment = .production
    ) throws -> JSONValue {
        let answer = try #require(try caller.ask("\(Self.path)/\(id)", in: environment).body)
        #expect(keys(answer) == ["signedAppTransactionInfo"])
        return try ServerAPICaller.payload(try #require(answer["signedAppTransactionInfo"]))
    }

    @Test("Get App Transaction Info has every documented field, for any id of the customer")
    func fields() throws {
        let caller = try caller()
        let customer = try caller.customer(.activeSubscription)
        let ids = customer.transactions.map(\.transactionId) + [customer.appTransactionId]
        for id in ids {
            let row = try payload(caller, id)
            #expect(
                keys(row) == [
                    "receiptType", "appAppleId", "bundleId", "receiptCreationDate", "originalPurchaseDate",
                    "originalApplicationVersion", "appTransactionId", "originalPlatform",
                ])
            #expect(row["receiptType"]?.text == "Production")
            #expect(row["receiptCreationDate"]?.integer == Shared.noon.milliseconds)
            #expect(row["appTransactionId"]?.text == customer.appTransactionId)
            #expect(row["originalPlatform"]?.text == "iOS")
        }
        let tester = try caller.customer(.activeSubscription, .sandbox)
        let sandbox = try payload(caller, tester.appTransactionId, in: .sandbox)
        #expect(sandbox["appAppleId"] == nil)
        #expect(sandbox["receiptType"]?.text == "Sandbox")
        #expect(sandbox["originalApplicationVersion"]?.text == "1.0")
    }

    @Test("A pre-order has its date")
    func preOrder() throws {
        let caller = try caller(.init(preOrders: true), customers: 86)
        let customer = try caller.customer(.preOrdered)
        let date = try #require(customer.preorderDate).milliseconds
        #expect(try payload(caller, customer.appTransactionId)["preorderDate"] == .number(date))
    }

    @Test("Malformed and unknown ids, and customers without an app transaction, have their own errors")
    func errors() throws {
        let caller = try caller(.init(newestFields: true))
        #expect(try caller.code("\(Self.path)/abc") == 4_000_006)
        #expect(try caller.code("\(Self.path)/123456789012345") == 4_040_010)
        let mac = try caller.customer(.billedUpfront)
        #expect(try payload(caller, mac.appTransactionId)["originalPlatform"]?.text == "macOS")
        let customer = try caller.customer(.withoutAppTransaction)
        let id = try #require(customer.transactions.first).transactionId
        #expect(try caller.code("\(Self.path)/\(id)") == 4_040_019)
        #expect(try caller.code("\(Self.path)/\(customer.appTransactionId)") == 4_040_010)
        for row in try caller.history(of: id).rows { #expect(row["appTransactionId"] == nil) }
    }

    @Test("The app transaction of a device can be checked against the device's identifier")
    func device() throws {
        let caller = try caller()
        for environment in [AppStoreEnvironment.production, .sandbox] {
            let customer = try caller.customer(.activeSubscription, environment)
            let signed = try #require(try caller.store.signedAppTransaction(of: customer))
            let row = try ServerAPICaller.payload(.string(signed))
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
        let caller = try caller()
        let customer = try caller.customer(.refundedNonConsumable)
        let id = customer.appTransactionId
        for path in ["v2/history", "v1/history", "v1/subscriptions", "v2/refund/lookup", Self.path] {
            #expect(try caller.ask("\(path)/\(id)").status == 200, "\(path)")
        }
        #expect(try caller.history(of: id).rows.count == customer.transactions.count)
        #expect(try caller.code("v1/transactions/\(id)") == 4_000_048)
        #expect(try caller.code("v2/history/\(id)", in: .sandbox) == 4_040_010)
    }

    @Test("The records on a customer's device are served over HTTP")
    func records() async throws {
        let store = try Shared.store(customers: 4)
        let client = SimulatedStoreTests.Client(port: try await store.start())
        let customer = try #require(store.world.customers.first)
        let answer = try await client.send("GET", "/customers/\(customer.id)")
        let unknown = try await client.send("GET", "/customers/c999999")
        await store.stop()
        #expect(unknown.status == 404)
        let document = try JSONValue(reading: answer.body)
        #expect(
            keys(document) == [
                "id", "environment", "appTransactionId", "signedAppTransaction", "signedTransactions",
                "signedRenewalInfos",
            ])
        let rows = try #require(document["signedTransactions"]?.elements).map(ServerAPICaller.payload)
        #expect(rows.compactMap { $0["transactionId"]?.text } == customer.transactions.map(\.transactionId))
        #expect(document["signedRenewalInfos"]?.elements?.count == customer.renewals.count)
    }
}
