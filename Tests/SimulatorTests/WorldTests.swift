import ReceiptBridgeBase
import ReceiptBridgeSimulator
import Testing

@Suite("Simulated world")
struct WorldTests {
    private let world = World(seed: 7, customers: 168, epoch: Shared.noon)

    @Test("A world follows from seed, number of customers and clock")
    func determinism() {
        #expect(World(seed: 7, customers: 168, epoch: Shared.noon).customers == world.customers)
        #expect(World(seed: 8, customers: 168, epoch: Shared.noon).customers != world.customers)
        #expect(World(seed: 7, customers: 10, epoch: Shared.noon).customers == Array(world.customers.prefix(10)))
    }

    @Test("A world has every kind of customer in production and in the sandbox")
    func kinds() {
        for environment in [AppStoreEnvironment.production, .sandbox] {
            let kinds = Set(world.customers.filter { $0.environment == environment }.map(\.kind))
            #expect(kinds == Set(CustomerKind.allCases).subtracting([.preOrdered] + CustomerKind.newestKinds))
        }
        let asked = World(seed: 7, customers: 168, epoch: Shared.noon, options: .init(preOrders: true))
        #expect(asked.customers.contains { $0.preorderDate != nil })
        for kind in [
            CustomerKind.activeSubscription, .consumables, .nonConsumable, .oldActiveSubscription,
            .oldExpiredSubscription,
        ] {
            #expect(Set(world.customers.prefix(20).filter { $0.kind == kind }.map(\.environment)).count == 2)
        }
    }

    @Test("Every transaction has an id of its own, which indicates the environment")
    func identifiers() throws {
        var seen: Set<String> = []
        for customer in world.customers {
            for transaction in customer.transactions {
                let id = try #require(TransactionIdentifier(rawValue: transaction.transactionId))
                #expect(seen.insert(transaction.transactionId).inserted)
                #expect(id.isSandbox == (customer.environment == .sandbox))
                #expect(transaction.transactionId.count == (customer.environment == .sandbox ? 16 : 15))
                #expect(transaction.purchaseDate <= Shared.noon)
            }
            #expect(customer.transactions.map(\.purchaseDate) == customer.transactions.map(\.purchaseDate).sorted())
        }
    }

    @Test("Every subscription of a history has a renewal state that agrees with its dates")
    func renewals() throws {
        for customer in world.customers {
            let subscriptions = Set(customer.transactions.filter(\.isAutoRenewable).map(\.originalTransactionId))
            #expect(Set(customer.renewals.map(\.originalTransactionId)) == subscriptions)
            for renewal in customer.renewals {
                let newest = try #require(
                    customer.transactions.last { $0.originalTransactionId == renewal.originalTransactionId })
                let isRunning = try #require(newest.expiresDate) > Shared.noon && newest.revocation == nil
                #expect((renewal.status == .active) == isRunning, "\(customer.kind)")
                #expect((renewal.status == .revoked) == (newest.revocation != nil))
            }
        }
    }

    @Test("The first customer is in production and has an active subscription")
    func first() throws {
        let customer = try #require(world.customers.first)
        #expect(customer.environment == .production)
        #expect(customer.activeProductIds == ["com.example.app.monthly"])
        #expect(customer.receipts.first?.version == nil)
    }

    @Test("A world of one customer or of a thousand is generated quickly")
    func size() throws {
        #expect(World(seed: 1, customers: 1, epoch: Shared.noon).customers.count == 1)
        let store = try Shared.store(customers: 300)
        #expect(store.receipts.count > 300)
        #expect(Set(store.receipts.map(\.id)).count == store.receipts.count)
    }
}
