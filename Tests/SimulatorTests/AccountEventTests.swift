import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Events about accounts and consent")
struct AccountEventTests {
    @Test("A removed account or tester is found neither by the Server API nor by verifyReceipt", arguments: [0, 1])
    func removed(index: Int) throws {
        let store = try SharedSimulator.store(customers: 4)
        let customer = store.world.customers[index]
        let environment = customer.environment
        let outcome = try store.simulate(EventRequest(.accountRemoved, customerId: customer.id))
        #expect(outcome.notifications.isEmpty)
        let first = try #require(customer.transactions.first)
        for id in [first.transactionId, customer.appTransactionId] {
            for path in ["v2/history", "v1/subscriptions", "v2/refund/lookup", "v1/transactions/appTransactions"] {
                #expect(try store.code("\(path)/\(id)", in: environment) == 4_040_001, "\(path)")
            }
        }
        #expect(try store.code("v1/transactions/\(first.transactionId)", in: environment) == 4_040_001)
        let receipt = try #require(store.receipts(of: customer).first)
        func status(_ password: String = SimulatedApp.first.sharedSecret) throws -> JSONValue {
            try store.verdict(on: receipt.base64, password: password)
        }
        #expect(try status() == JSONValue(["status": 21010]))
        #expect(try status("wrong")["status"] == .number(21004))
        #expect(throws: EventFailure.impossible) {
            try store.simulate(EventRequest(.renew, customerId: customer.id))
        }
        let other = try #require(store.world.customers[3 - index].transactions.first)
        let neighbour = store.world.customers[3 - index].environment
        #expect(try store.ask("v2/history/\(other.transactionId)", in: neighbour).status == 200)
    }

    @Test("Rescinded consent is reported with the app transaction, without data of a purchase", arguments: [0, 1])
    func consent(index: Int) async throws {
        let store = try SharedSimulator.store(customers: 4)
        let receiver = try TestServer(reply: .respond())
        try store.notify(receiver)
        let customer = store.world.customers[index]
        try await store.delivering {
            let outcome = try store.simulate(EventRequest(.rescindConsent, customerId: customer.id))
            #expect(outcome.notificationTypes == ["RESCIND_CONSENT"])
        }
        let payload = try #require(try receiver.payloads().first)
        #expect(keys(payload) == ["notificationType", "notificationUUID", "appData", "version", "signedDate"])
        let data = try #require(payload["appData"])
        #expect(data["bundleId"]?.text == SimulatedApp.first.bundleId)
        #expect((data["appAppleId"] != nil) == (customer.environment == .production))
        let row = try decoded(data["signedAppTransactionInfo"])
        #expect(row["appTransactionId"]?.text == customer.appTransactionId)
        #expect(row["receiptCreationDate"] == payload["signedDate"])
        #expect(throws: EventFailure.impossible) {
            try store.simulate(EventRequest(.rescindConsent, customerId: customer.id))
        }
        #expect(try store.sentNotifications(in: customer.environment).count == 1)
    }
}
