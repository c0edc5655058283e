import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

@Suite("Several servers with one store")
struct ConcurrentStoreTests {
    /// Number of servers, each with connections of its own.
    private static let servers = 4

    private func customer(_ ids: [Int], at date: Int64, aliases: [String] = []) -> CustomerRow {
        CustomerRow(
            ids.map { TransactionRow("\($0)", at: date, download: "d\(ids[0])") }, at: date,
            statuses: ids.map { StatusRow("\($0)", group: "g", at: date) }, aliases: aliases)
    }

    private func stores(of stage: StoreStage) async throws -> [any Store] {
        var stores = [stage.store]
        while stores.count < Self.servers { stores.append(try await stage.second()) }
        return stores
    }

    /// Performs the actions on the servers by turns, at most 16 at the same time on each of them.
    private func perform<Action: Sendable>(
        _ actions: [Action], on stores: [any Store],
        _ body: @escaping @Sendable (Action, any Store) async throws -> Void
    ) async throws {
        let workers = 16 * stores.count
        try await concurrently(0..<workers) { worker in
            for index in stride(from: worker, to: actions.count, by: workers) {
                try await body(actions[index], stores[worker % stores.count])
            }
        }
    }

    @Test(
        "Notifications about the same purchases arrive in any order at four servers: the newest record of each is stored, and all others as history",
        arguments: engines)
    func newest(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let stores = try await stores(of: stage)
        let deadlocks = try await stage.deadlocks()
        let (purchases, versions) = (1_000..<1_200, 1...6 as ClosedRange<Int64>)
        // Four purchases of each customer, so that a customer changes with each of them. Half of the customers are
        // known from notifications only.
        let customers = stride(from: purchases.lowerBound, to: purchases.upperBound, by: 4).map { Array($0..<($0 + 4)) }
        let known = customers.prefix(customers.count / 2)
        try await perform(Array(known), on: stores) { ids, store in
            try await store.customers.save(customer(ids, at: 0), of: stage.scope)
        }
        var generator = SeededGenerator("any order")
        var events = purchases.flatMap { id in versions.map { (id: id, date: $0) } }
        // Some notifications are sent twice.
        events += events.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }
        events.shuffle(using: &generator)
        try await perform(events, on: stores) { event, store in
            let original = "\(event.id)"
            let isLast = event.date == versions.upperBound
            let update = NotificationUpdate(
                transaction: TransactionRow(
                    original, at: event.date, revoked: isLast && event.id % 2 == 0 ? event.date : nil),
                renewal: RenewalRow(original, at: event.date, "renewal \(event.date)"),
                status: StatusRow(original, isLast ? 2 : 1, at: event.date), needsLookup: event.date % 2 == 0)
            let row = NotificationRow("\(event.id) \(event.date)", at: event.date)
            _ = try await store.notifications.save(row, update, of: stage.scope)
        }
        for ids in known {
            let stored = try #require(try await stage.find(ids.map { "\($0)" }))
            #expect(stored.revokedTransactionIds == Set(ids.filter { $0 % 2 == 0 }.map { "\($0)" }))
            #expect(stored.subscriptions.map(\.status) == [2, 2, 2, 2] && stored.needsLookup)
            #expect(stored.subscriptions.allSatisfy { $0.renewal == "renewal \(versions.upperBound)" })
        }
        var history: [Int] = []
        for id in purchases {
            let identifier = try #require(TransactionIdentifier(rawValue: "\(id)"))
            let text = try await stage.store.customers.transaction(identifier, in: stage.scope)
            #expect(text == "\(id)@\(versions.upperBound)")
            // The footprint is that of the customer, if there is one.
            guard !known.joined().contains(id) || id % 4 == 0 else { continue }
            let footprint = try await stage.store.personalData.footprint(of: ErasureRequest(.transaction(identifier)))
            history.append(footprint.kinds.first { $0.name == "supersededTransactions" }?.count ?? 0)
        }
        let replaced = versions.count - 1
        #expect(
            history.sorted()
                == Array(repeating: replaced, count: purchases.count - known.joined().count)
                + Array(repeating: 4 * versions.count, count: known.count))
        #expect(try await stage.store.notifications.notificationCount() == purchases.count * versions.count)
        for store in stores { await store.close() }
        #expect(try await stage.deadlocks() == deadlocks)
    }

    @Test(
        "Histories that overlap arrive in any order at four servers: they become one customer with all purchases and aliases",
        arguments: engines)
    func merges(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let stores = try await stores(of: stage)
        let deadlocks = try await stage.deadlocks()
        let (chains, links) = (0..<12, 0..<10)
        var generator = SeededGenerator("overlapping histories")
        var histories = chains.flatMap { chain in links.map { (chain + 1) * 100 + $0 } }
        histories.shuffle(using: &generator)
        try await perform(histories, on: stores) { first, store in
            try await store.customers.save(
                customer([first, first + 1], at: 1_000, aliases: ["9\(first)"]), of: stage.scope)
        }
        for chain in chains {
            let ids = (links.lowerBound...links.upperBound).map { (chain + 1) * 100 + $0 }
            let stored = try await stage.find(ids.map { "\($0)" }, ids.dropLast().map { "9\($0)" })
            #expect(Set(stored?.transactions ?? []) == Set(ids.map { "\($0)@1000" }), "\(chain)")
            #expect(stored?.needsLookup == false)
        }
        for store in stores { await store.close() }
        #expect(try await stage.deadlocks() == deadlocks)
    }
}
