import ReceiptBridgeBase
import ReceiptBridgeSimulator
import ReceiptBridgeTestSupport
import Testing

@Suite("Simulated world")
struct WorldTests {
    private let world = World(seed: 7, customers: 168, epoch: SharedSimulator.noon)

    @Test("A world follows from seed, number of customers and clock")
    func determinism() {
        #expect(World(seed: 7, customers: 168, epoch: SharedSimulator.noon).customers == world.customers)
        #expect(World(seed: 8, customers: 168, epoch: SharedSimulator.noon).customers != world.customers)
        #expect(
            World(seed: 7, customers: 10, epoch: SharedSimulator.noon).customers == Array(world.customers.prefix(10)))
    }

    @Test("A world has every kind of customer in production and in the sandbox")
    func kinds() {
        for environment in [AppStoreEnvironment.production, .sandbox] {
            let kinds = Set(world.customers.filter { $0.environment == environment }.map(\.kind))
            #expect(kinds == Set(CustomerKind.allCases).subtracting([.preOrdered] + CustomerKind.newestKinds))
        }
        let asked = World(seed: 7, customers: 168, epoch: SharedSimulator.noon, options: .init(preOrders: true))
        #expect(asked.customers.contains { $0.preorderDate != nil })
        for kind in [
            CustomerKind.activeSubscription, .consumables, .nonConsumable, .oldActiveSubscription,
            .oldExpiredSubscription,
        ] {
            #expect(Set(world.customers.prefix(20).filter { $0.kind == kind }.map(\.environment)).count == 2)
        }
    }

    @Test("Every transaction has an id of its own, and every subscription a renewal state that agrees with its dates")
    func identifiers() throws {
        var seen: Set<String> = []
        for customer in world.customers {
            for transaction in customer.transactions {
                #expect(seen.insert(transaction.transactionId).inserted)
                #expect(transaction.transactionId.count == (customer.environment == .sandbox ? 16 : 15))
                #expect(transaction.purchaseDate <= SharedSimulator.noon)
            }
            try customer.expectConsistency()
            let subscriptions = Set(customer.transactions.filter(\.isAutoRenewable).map(\.originalTransactionId))
            #expect(Set(customer.renewals.map(\.originalTransactionId)) == subscriptions)
        }
    }

    @Test("The first customer is in production and has an active subscription")
    func first() throws {
        let customer = try #require(world.customers.first)
        #expect(customer.environment == .production)
        #expect(customer.activeProductIds == ["com.example.app.monthly"])
        #expect(customer.receipts.first?.version == nil)
    }
}
