import ReceiptBridgeBase
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Events about accounts and consent")
struct AccountEventTests {
    @Test("A removed account or tester is found neither by the Server API nor by verifyReceipt", arguments: [0, 1])
    func removed(index: Int) throws {
        let store = try Shared.store(customers: 4)
        let caller = ServerAPICaller(store: store)
        let customer = store.world.customers[index]
        let environment = customer.environment
        let outcome = try store.simulate(EventRequest(.accountRemoved, customerId: customer.id))
        #expect(outcome.notifications.isEmpty)
        let first = try #require(customer.transactions.first)
        for id in [first.transactionId, customer.appTransactionId] {
            for path in ["v2/history", "v1/subscriptions", "v2/refund/lookup", "v1/transactions/appTransactions"] {
                #expect(try caller.code("\(path)/\(id)", in: environment) == 4_040_001, "\(path)")
            }
        }
        #expect(try caller.code("v1/transactions/\(first.transactionId)", in: environment) == 4_040_001)
        let receipt = try #require(store.receipts(of: customer).first)
        func status(_ password: String) throws -> JSONValue {
            let request = JSONValue.object(["receipt-data": .string(receipt.base64), "password": .string(password)])
            return try store.verifyReceipt.answer(body: request.bytes, at: .automatic)
        }
        #expect(try status(SimulatedApp.first.sharedSecret) == .object(["status": .number(21010)]))
        #expect(try status("wrong")["status"] == .number(21004))
        #expect(throws: EventFailure.impossible) {
            try store.simulate(EventRequest(.renew, customerId: customer.id))
        }
        let other = try #require(store.world.customers[3 - index].transactions.first)
        let neighbour = store.world.customers[3 - index].environment
        #expect(try caller.ask("v2/history/\(other.transactionId)", in: neighbour).status == 200)
    }

    @Test("Rescinded consent is reported with the app transaction, without data of a purchase", arguments: [0, 1])
    func consent(index: Int) async throws {
        let store = try Shared.store(customers: 4)
        let receiver = try Receiver()
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
        let row = try ServerAPICaller.payload(try #require(data["signedAppTransactionInfo"]))
        #expect(row["appTransactionId"]?.text == customer.appTransactionId)
        #expect(row["receiptCreationDate"] == payload["signedDate"])
        #expect(throws: EventFailure.impossible) {
            try store.simulate(EventRequest(.rescindConsent, customerId: customer.id))
        }
        #expect(try ServerAPICaller(store: store).notifications(in: customer.environment).count == 1)
    }

    @Test("Version 1 has no notification of rescinded consent or of a migration")
    func version1() async throws {
        let store = try Shared.store(customers: 4)
        let receiver = try Receiver()
        try store.notify(receiver, .first)
        let customer = try store.customer(.activeSubscription)
        try await store.delivering {
            for event in [WorldEvent.rescindConsent, .migration] {
                try store.simulate(EventRequest(event, customerId: customer.id))
            }
        }
        #expect(receiver.documents.isEmpty)
    }

    @Test("Events on request never happen at random")
    func random() throws {
        let events = Set(try Shared.store(customers: 84).simulate(2000, seed: 3).compactMap(\.event))
        #expect(events.isDisjoint(with: [.accountRemoved, .rescindConsent, .migration]))
    }
}
