import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Simulated Server API")
struct ServerAPIReadingTests {
    private let store: SimulatedStore

    init() throws { store = try SharedSimulator.allKinds.get() }

    @Test("Get Transaction Info returns one transaction, signed now")
    func transactionInfo() throws {
        let transaction = try #require(try store.customer(.activeSubscription).transactions.last)
        let answer = try store.ask("v1/transactions/\(transaction.transactionId)")
        #expect(answer.status == 200)
        let row = try decoded(answer.body?["signedTransactionInfo"])
        #expect(row == transaction.row(.production, signedDate: SharedSimulator.noon))
    }

    @Test(
        "Malformed ids and ids of the other environment are rejected",
        arguments: [
            ("0", 4_000_006), ("..%2F", 4_000_006), ("abc", 4_000_006), ("123456789012345678901", 4_000_006),
            ("123456789012345", 4_040_010),
        ] as [(String, Int64)])
    func identifiers(id: String, code: Int64) throws {
        for path in ["v1/transactions/", "v2/history/", "v1/history/", "v1/subscriptions/", "v2/refund/lookup/"] {
            #expect(try store.code("\(path)\(id)") == code, "\(path)")
        }
        let sandbox = try #require(try store.customer(.consumables, .sandbox).transactions.first)
        #expect(try store.code("v2/history/\(sandbox.transactionId)") == 4_040_010)
        #expect(try store.ask("v2/history/\(sandbox.transactionId)", in: .sandbox).status == 200)
    }

    @Test("A history of more than a hundred rows has pages of 20, ordered by date of change", arguments: [1, 2])
    func paging(version: Int) throws {
        let customer = try store.customer(.longHistory)
        let id = customer.transactions[50].transactionId
        let (rows, pages) = try store.history(of: id, version: version)
        #expect(pages == (customer.transactions.count + 19) / 20)
        #expect(rows.compactMap { $0["transactionId"]?.text } == customer.transactions.map(\.transactionId))
        let descending = try store.history(of: id, version: version, query: "sort=DESCENDING").rows
        #expect(descending == rows.reversed())
    }

    @Test("A refunded row is listed at the date of its refund, not of its purchase")
    func lastModified() throws {
        let customer = try store.customer(.refundedPeriod)
        let ids = try store.history(of: customer.transactions[0].transactionId).rows.compactMap {
            $0["transactionId"]?.text
        }
        let refunded = try #require(customer.transactions.first { $0.revocation != nil })
        #expect(Set(ids) == Set(customer.transactions.map(\.transactionId)))
        #expect(ids.firstIndex(of: refunded.transactionId) == 2)
    }

    @Test("A customer is found by every id, including restored ones and that of the download")
    func anyId() throws {
        let customer = try store.customer(.restored)
        let ids = customer.transactions.flatMap { [$0.transactionId, $0.receiptId] } + [customer.appTransactionId]
        #expect(Set(ids).count == customer.transactions.count + 3)
        for id in ids { #expect(try store.history(of: id).rows.count == customer.transactions.count) }
    }

    @Test(
        "The query filters a history",
        arguments: [
            ("productId=com.example.app.unlock&productId=com.example.app.season", 2),
            ("productType=AUTO_RENEWABLE", 8), ("productType=NON_RENEWABLE&productType=NON_CONSUMABLE", 2),
            ("subscriptionGroupIdentifier=20500002", 4), ("inAppOwnershipType=FAMILY_SHARED", 1),
            ("inAppOwnershipType=PURCHASED", 10), ("revoked=true", 0), ("revoked=False", 11),
            ("excludeRevoked=true", 11), ("startDate=0&endDate=9999999999999", 11), ("endDate=0", 0),
            ("productId=com.example.app.other", 0), ("revision=0", 11),
        ])
    func filters(query: String, count: Int) throws {
        let id = try #require(try store.customer(.severalSubscriptions).transactions.first).transactionId
        #expect(try store.history(of: id, query: query).rows.count == count)
    }

    @Test(
        "Each invalid parameter has its error code",
        arguments: [
            ("revision=x", 4_000_005), ("startDate=5&endDate=4", 4_000_013), ("startDate=x", 4_000_015),
            ("endDate=x", 4_000_016), ("sort=UP", 4_000_021), ("productType=Consumable", 4_000_022),
            ("productId=", 4_000_023), ("subscriptionGroupIdentifier=x", 4_000_024), ("excludeRevoked=1", 4_000_025),
            ("inAppOwnershipType=X", 4_000_026), ("revoked=maybe", 4_000_030),
        ] as [(String, Int64)])
    func badParameters(query: String, code: Int64) throws {
        let id = try #require(try store.customer(.severalSubscriptions).transactions.first).transactionId
        #expect(try store.code("v2/history/\(id)?\(query)") == code)
    }

    @Test("Sandbox responses have no appAppleId, and a customer without purchases has an empty history")
    func envelopes() throws {
        for environment in [AppStoreEnvironment.production, .sandbox] {
            let id = try store.customer(.noPurchases, environment).appTransactionId
            let answer = try #require(try store.ask("v2/history/\(id)", in: environment).body)
            #expect(answer["revision"] == .string("0"))
            #expect(answer["signedTransactions"] == .array([]))
            #expect((answer["appAppleId"]?.integer == 1_234_567_890) == (environment == .production))
            let statuses = try #require(try store.ask("v1/subscriptions/\(id)", in: environment).body)
            #expect(statuses["data"] == .array([]))
        }
    }

    @Test("Version 1 omits finished consumables, except refunded ones")
    func versionOne() throws {
        for (kind, first, second) in [(CustomerKind.consumables, 1, 2), (.refundedConsumables, 3, 3)] {
            let id = try #require(try store.customer(kind).transactions.first).transactionId
            #expect(try store.history(of: id, version: 1).rows.count == first)
            #expect(try store.history(of: id, version: 2).rows.count == second)
        }
    }

    @Test("Subscription statuses are listed by group, and only those that the query asks for")
    func statuses() throws {
        let customer = try store.customer(.severalSubscriptions)
        let path = "v1/subscriptions/\(customer.transactions[0].transactionId)"
        let data = try #require(try store.ask(path).body?["data"]?.elements)
        #expect(data.compactMap { $0["subscriptionGroupIdentifier"]?.text } == ["20500001", "20500002"])
        #expect(data.map { $0["lastTransactions"]?.elements?.count } == [2, 1])
        let expired = try #require(try store.ask("\(path)?status=2&status=5").body?["data"]?.elements)
        #expect(expired.map { $0["subscriptionGroupIdentifier"]?.text } == ["20500002"])
        #expect(try store.code("\(path)?status=6") == 4_000_031)
    }

    @Test("Refunds are ordered by date, and orders are found in production")
    func others() throws {
        let customer = try store.customer(.restored)
        let first = try #require(customer.transactions.first)
        let refunds = try #require(try store.ask("v2/refund/lookup/\(first.transactionId)").body)
        #expect(keys(refunds) == ["signedTransactions", "revision", "hasMore"])
        #expect(refunds["signedTransactions"]?.elements?.count == 1)
        #expect(try store.code("v1/refund/lookup/\(customer.transactions[1].transactionId)") == 4_040_005)
        let order = try #require(try store.ask("v1/lookup/\(first.orderId)").body)
        #expect(order["status"] == .number(0))
        #expect(order["signedTransactions"]?.elements?.count == 1)
        #expect(keys(try store.ask("v1/lookup/MUNKNOWN").body) == ["status"])
        #expect(try store.code("v1/lookup/\(first.orderId)", in: .sandbox) == 4_000_000)
    }
}
