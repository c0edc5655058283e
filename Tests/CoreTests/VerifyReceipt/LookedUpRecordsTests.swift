import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport

@Suite("Records of lookups at hand")
struct LookedUpRecordsTests {
    private func body(_ receipt: IssuedReceipt, _ further: KeyValuePairs<String, JSONValue?> = [:]) -> [UInt8] {
        Array(Question.body(receipt.base64, password: nil, further))
    }

    @Test("Records are cached for one minute, and every response has its own request date")
    func cached() async throws {
        try await ServerAPIWorld.asking { store, world in
            let clock = MovableClock()
            let pipeline = try world.pipeline([.api], clock: clock)
            let receipt = try store.receipt(.activeSubscription)
            let first = await pipeline.answer(body: body(receipt), route: .auto)
            #expect(first.source == .api && first.answer.status == .valid)
            // One lookup is two calls: the transaction history and the subscription statuses.
            #expect(store.requests.total == 2)
            clock.now = SharedSimulator.noon.advanced(by: .seconds(59))
            let second = await pipeline.answer(body: body(receipt), route: .auto)
            #expect(second.source == .api)
            #expect(store.requests.total == 2)
            let dates = try [first, second].map { reply in
                try JSONValue(reading: reply.answer.body)["receipt"]?["request_date_ms"]?.text
            }
            #expect(dates == ["1795262400000", "1795262459000"])
            let thinned = await pipeline.answer(
                body: body(receipt, ["exclude-old-transactions": .bool(true)]), route: .auto)
            #expect(thinned.answer.body.count < second.answer.body.count || receipt.customer.transactions.count == 1)
            #expect(store.requests.total == 2)
            clock.now = SharedSimulator.noon.advanced(by: .minutes(1))
            _ = await pipeline.answer(body: body(receipt), route: .auto)
            #expect(store.requests.total == 4)
            clock.now = SharedSimulator.noon
            _ = await pipeline.answer(body: body(receipt), route: .auto)
            #expect(store.requests.total == 6, "a clock that was set back must not extend the lifetime")
        }
    }

    @Test("The Server API is called every time with cacheSeconds: 0, and again after a failure")
    func notCached() async throws {
        try await ServerAPIWorld.asking { store, world in
            let receipt = try store.receipt(.activeSubscription)
            func calls(_ pipeline: VerifyReceiptService) async -> Int {
                store.requests.removeAll()
                for _ in 0..<3 { _ = await pipeline.answer(body: body(receipt), route: .auto) }
                return store.requests.total
            }
            let always = try world.pipeline([.api]) { $0.cacheSeconds = 0 }
            #expect(await calls(always) == 6)
            let pipeline = try world.pipeline([.api])
            store.faults.add(SimulatedFault(.status(404), endpoint: "history", times: 1))
            #expect(await pipeline.answer(body: body(receipt), route: .auto).answer.status == .temporarilyUnavailable)
            #expect(await pipeline.answer(body: body(receipt), route: .auto).answer.status == .valid)
        }
    }

    @Test("A shorter cacheSeconds after a reload applies to records that are already cached")
    func shorter() async throws {
        try await ServerAPIWorld.asking { store, world in
            let receipt = try store.receipt(.activeSubscription)
            var app = AppConfiguration(of: store)
            app.answer = [.api]
            app.cacheSeconds = 3_600
            var settings = ProxyConfiguration(of: store, port: world.port)
            settings.apps = [app]
            func graph(_ previous: ServiceGraph?) throws -> ServiceGraph {
                try ServiceGraph(
                    settings: settings, transport: world.transport, store: nil, previous: previous, tables: .bundled,
                    logger: .silent, now: { SharedSimulator.noon })
            }
            let before = try graph(nil)
            for _ in 0..<2 {
                #expect(await before.verifyReceipt.answer(body: body(receipt), route: .auto).source == .api)
            }
            #expect(store.requests.total == 2)
            settings.apps[0].cacheSeconds = 0
            let after = try graph(before)
            #expect(await after.verifyReceipt.answer(body: body(receipt), route: .auto).source == .api)
            #expect(store.requests.total == 4)
        }
    }

    // T37
    @Test("All signed transactions of a customer, the app transaction and the receipts cost one lookup")
    func oneLookup() async throws {
        try await ServerAPIWorld.asking { store, world in
            for kind in [CustomerKind.activeSubscription, .longHistory] {
                let customer = try store.customer(kind)
                let pipeline = try world.pipeline([.api])
                store.requests.removeAll()
                var calls: [Int] = []
                var items = try customer.transactions.prefix(10).map { try signed($0, customer, store) }
                items.append(try #require(try store.signedAppTransaction(of: customer)))
                items += store.receipts(of: customer).map(\.base64)
                for item in items {
                    let reply = await pipeline.answer(body: Question.body(item), route: .auto)
                    #expect(reply.answer.status == .valid && reply.source == .api)
                    calls.append(store.requests.total)
                }
                // The pages of the transaction history, the subscription statuses and the app transaction.
                #expect(Set(calls) == [(customer.transactions.count + 19) / 20 + 2], "\(kind)")
            }
        }
    }

    @Test("A signed transaction that the history lacks is looked up at once, and again after five seconds")
    func lacking() async throws {
        try await ServerAPIWorld.asking { store, world in
            let clock = MovableClock()
            let pipeline = try world.pipeline([.api], clock: clock)
            let customer = try store.customer(.activeSubscription)
            let known = try #require(customer.transactions.last)
            let unknown = try signed(known, customer, store, transactionId: "730999999999999")
            var calls: [Int] = []
            for (item, seconds) in [(try signed(known, customer, store), 0), (unknown, 1), (unknown, 5), (unknown, 6)] {
                store.requests.removeAll()
                clock.now = SharedSimulator.noon.advanced(by: .milliseconds(Int64(seconds) * 1_000))
                #expect(await pipeline.answer(body: Question.body(item), route: .auto).answer.status == .valid)
                calls.append(store.requests.total)
            }
            #expect(calls[1] > 0 && calls[2] == 0 && calls[3] > 0, "\(calls)")
        }
    }

    private func signed(
        _ transaction: SimulatedTransaction, _ customer: SimulatedCustomer, _ store: SimulatedStore,
        transactionId: String? = nil
    ) throws -> String {
        var row = transaction.row(customer.environment, signedDate: SharedSimulator.noon)
        if let transactionId, case .object(let members) = row {
            row = .object(members.map { .init($0.key, $0.key == "transactionId" ? .string(transactionId) : $0.value) })
        }
        return try store.pki.jwsSigner.jws(payload: row)
    }

    @Test("A transaction or an account that the Server API does not know is denied only if no later source answers")
    func denials() async throws {
        typealias Policy = AppConfiguration.UnknownTransaction
        try await ServerAPIWorld.asking { store, world async throws in
            func ask(_ kind: CustomerKind, _ sources: [AnswerSource], _ policy: Policy) async throws -> String {
                let pipeline = try world.pipeline(sources) { $0.unknownTransaction = policy }
                let reply = await pipeline.answer(body: body(try store.receipt(kind)), route: .auto)
                // The whole body of a denial, because every other body is too long to compare.
                let text = String(decoding: reply.answer.body, as: UTF8.self)
                return "\(text.utf8.count < 100 ? text : "\(reply.answer.status)") \(reply.source)"
            }
            let denied = #"{"environment":"Production","status":21010,"is_retryable":false} api"#
            let (transaction, account): (Int64, Int64) = (4_040_010, 4_040_001)
            let table: [(code: Int64, CustomerKind, [AnswerSource], Policy, isAppleDown: Bool, expected: String)] = [
                (transaction, .activeSubscription, [.api], .receipt, false, "0 receipt"),
                (transaction, .activeSubscription, [.api, .receipt], .receipt, false, "0 receipt"),
                (transaction, .activeSubscription, [.api, .apple, .receipt], .receipt, false, "0 apple"),
                (transaction, .activeSubscription, [.api], .accountNotFound, false, denied),
                (transaction, .activeSubscription, [.api, .receipt], .accountNotFound, false, denied),
                (transaction, .activeSubscription, [.api, .apple, .receipt], .accountNotFound, false, "0 apple"),
                (account, .activeSubscription, [.api], .receipt, false, denied),
                (account, .activeSubscription, [.api, .receipt], .receipt, false, "0 receipt"),
                (account, .activeSubscription, [.api, .apple, .receipt], .receipt, false, "0 apple"),
                (account, .nonConsumable, [.api], .receipt, false, denied),
                (account, .nonConsumable, [.api, .receipt], .receipt, false, "0 receipt"),
                (account, .nonConsumable, [.api, .apple, .receipt], .receipt, false, "0 apple"),
                // The receipt may be stale, so it has no response of its own.
                (account, .expiredSubscription, [.api, .receipt], .receipt, false, denied),
                (account, .activeSubscription, [.api, .apple], .receipt, true, denied),
                (account, .activeSubscription, [.api, .apple, .receipt], .receipt, true, "0 receipt"),
                (account, .expiredSubscription, [.api, .apple, .receipt], .receipt, true, denied),
            ]
            for row in table {
                store.faults.removeAll()
                store.faults.add(
                    SimulatedFault(.serverAPI(.failure(code: row.code, retryAfter: nil)), endpoint: "serverAPI"))
                if row.isAppleDown { store.faults.add(SimulatedFault(.status(503), endpoint: "verifyReceipt")) }
                #expect(try await ask(row.1, row.2, row.3) == row.expected, "\(row)")
            }
        }
    }
}
