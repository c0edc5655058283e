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
        try await ServerAPIWorld.asking { store, port, transport in
            let clock = MovableClock()
            let pipeline = try ServerAPIWorld.pipeline(
                store, port: port, transport: transport, answer: [.api], now: { clock.now })
            let customer = try #require(store.world.customers.first { $0.kind == .activeSubscription })
            let receipt = try #require(store.receipts(of: customer).first)
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
            #expect(thinned.answer.body.count < second.answer.body.count || customer.transactions.count == 1)
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
        try await ServerAPIWorld.asking { store, port, transport in
            let customer = try #require(store.world.customers.first { $0.kind == .activeSubscription })
            let receipt = try #require(store.receipts(of: customer).first)
            func calls(_ pipeline: VerifyReceiptService) async -> Int {
                store.requests.removeAll()
                for _ in 0..<3 { _ = await pipeline.answer(body: body(receipt), route: .auto) }
                return store.requests.total
            }
            let always = try ServerAPIWorld.pipeline(
                store, port: port, transport: transport, answer: [.api], changing: { $0.cacheSeconds = 0 })
            #expect(await calls(always) == 6)
            let pipeline = try ServerAPIWorld.pipeline(store, port: port, transport: transport, answer: [.api])
            store.faults.add(SimulatedFault(.status(404), endpoint: "history", times: 1))
            #expect(await pipeline.answer(body: body(receipt), route: .auto).answer.status == .temporarilyUnavailable)
            #expect(await pipeline.answer(body: body(receipt), route: .auto).answer.status == .valid)
        }
    }

    @Test("A shorter cacheSeconds after a reload applies to records that are already cached")
    func shorter() async throws {
        try await ServerAPIWorld.asking { store, port, transport in
            let customer = try #require(store.world.customers.first { $0.kind == .activeSubscription })
            let receipt = try #require(store.receipts(of: customer).first)
            var app = AppConfiguration(of: store)
            app.answer = [.api]
            app.cacheSeconds = 3_600
            var settings = ProxyConfiguration(of: store, port: port)
            settings.apps = [app]
            let before = try ServiceGraph(
                settings: settings, transport: transport, store: nil, tables: .bundled, logger: .silent,
                now: { SharedSimulator.noon })
            for _ in 0..<2 {
                #expect(await before.verifyReceipt.answer(body: body(receipt), route: .auto).source == .api)
            }
            #expect(store.requests.total == 2)
            settings.apps[0].cacheSeconds = 0
            let after = try ServiceGraph(
                settings: settings, transport: transport, store: nil, previous: before, tables: .bundled,
                logger: .silent,
                now: { SharedSimulator.noon })
            #expect(await after.verifyReceipt.answer(body: body(receipt), route: .auto).source == .api)
            #expect(store.requests.total == 4)
        }
    }

    @Test("Records are not returned for another customer's receipt, nor for one with a newer purchase")
    func keys() async throws {
        try await ServerAPIWorld.asking { store, port, transport in
            let pipeline = try ServerAPIWorld.pipeline(store, port: port, transport: transport, answer: [.api])
            for receipt in store.receipts where !receipt.originalTransactionIds.isEmpty {
                let reply = await pipeline.answer(body: body(receipt), route: .auto)
                let answer = try JSONValue(reading: reply.answer.body)
                let first = try #require(receipt.originalTransactionIds.first)
                #expect(String(decoding: answer.bytes, as: UTF8.self).contains("\"\(first)\""), "\(receipt.id)")
            }
        }
    }

    // T37
    @Test("All signed transactions of a customer, the app transaction and the receipts cost one lookup")
    func oneLookup() async throws {
        try await ServerAPIWorld.asking { store, port, transport in
            for kind in [CustomerKind.activeSubscription, .longHistory] {
                let customer = try #require(store.world.customers.first { $0.kind == kind })
                let pipeline = try ServerAPIWorld.pipeline(store, port: port, transport: transport, answer: [.api])
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
        try await ServerAPIWorld.asking { store, port, transport in
            let clock = MovableClock()
            let pipeline = try ServerAPIWorld.pipeline(
                store, port: port, transport: transport, answer: [.api], now: { clock.now })
            let customer = try #require(store.world.customers.first { $0.kind == .activeSubscription })
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

    @Test("A transaction unknown to the Server API is answered by the receipt or with 21010, as configured")
    func unknown() async throws {
        try await ServerAPIWorld.asking { store, port, transport in
            let customer = try #require(store.world.customers.first { $0.kind == .activeSubscription })
            let receipt = try #require(store.receipts(of: customer).first)
            func ask(_ sources: [AnswerSource], _ policy: AppConfiguration.UnknownTransaction) async throws -> String {
                let pipeline = try ServerAPIWorld.pipeline(
                    store, port: port, transport: transport, answer: sources,
                    changing: { $0.unknownTransaction = policy })
                let reply = await pipeline.answer(body: body(receipt), route: .auto)
                return "\(reply.answer.status.rawValue) \(reply.source)"
            }
            store.faults.add(
                SimulatedFault(.serverAPI(.failure(code: 4_040_010, retryAfter: nil)), endpoint: "serverAPI"))
            #expect(try await ask([.api], .receipt) == "0 receipt")
            #expect(try await ask([.api, .receipt], .receipt) == "0 receipt")
            #expect(try await ask([.api, .apple, .receipt], .receipt) == "0 apple")
            #expect(try await ask([.api], .accountNotFound) == "21010 api")
            #expect(try await ask([.api, .receipt], .accountNotFound) == "21010 api")
            #expect(try await ask([.api, .apple, .receipt], .accountNotFound) == "0 apple")
        }
    }

    @Test("A missing account is 21010 only if no later source has a response")
    func accountGone() async throws {
        try await ServerAPIWorld.asking { store, port, transport async throws in
            func ask(_ kind: CustomerKind, _ sources: [AnswerSource]) async throws -> String {
                let customer = try #require(
                    store.world.customers.first { $0.kind == kind && $0.environment == .production })
                let receipt = try #require(store.receipts(of: customer).first)
                let pipeline = try ServerAPIWorld.pipeline(store, port: port, transport: transport, answer: sources)
                let reply = await pipeline.answer(body: body(receipt), route: .auto)
                // The whole body of a denial, because every other body is too long to compare.
                let text = String(decoding: reply.answer.body, as: UTF8.self)
                return "\(text.utf8.count < 100 ? text : "\(reply.answer.status)") \(reply.source)"
            }
            store.faults.add(
                SimulatedFault(.serverAPI(.failure(code: 4_040_001, retryAfter: nil)), endpoint: "serverAPI"))
            let denied = #"{"environment":"Production","status":21010,"is_retryable":false} api"#
            for kind in [CustomerKind.activeSubscription, .nonConsumable] {
                #expect(try await ask(kind, [.api]) == denied)
                #expect(try await ask(kind, [.api, .receipt]) == "0 receipt")
                #expect(try await ask(kind, [.api, .apple, .receipt]) == "0 apple")
            }
            // The receipt may be stale, so it has no response of its own.
            #expect(try await ask(.expiredSubscription, [.api, .receipt]) == denied)
            store.faults.add(SimulatedFault(.status(503), endpoint: "verifyReceipt"))
            #expect(try await ask(.activeSubscription, [.api, .apple]) == denied)
            #expect(try await ask(.activeSubscription, [.api, .apple, .receipt]) == "0 receipt")
            #expect(try await ask(.expiredSubscription, [.api, .apple, .receipt]) == denied)
        }
    }

    @Test("A transaction unknown to the Server API does not let an old receipt report an expired subscription")
    func unknownAndStale() async throws {
        try await ServerAPIWorld.asking { store, port, transport in
            let customer = try #require(store.world.customers.first { $0.kind == .expiredSubscription })
            let receipt = try #require(store.receipts(of: customer).first)
            store.faults.add(
                SimulatedFault(.serverAPI(.failure(code: 4_040_010, retryAfter: nil)), endpoint: "serverAPI"))
            let pipeline = try ServerAPIWorld.pipeline(store, port: port, transport: transport, answer: [.api])
            let reply = await pipeline.answer(body: body(receipt), route: .auto)
            #expect(
                String(decoding: reply.answer.body, as: UTF8.self)
                    == #"{"status":21005,"is_retryable":true,"is-retryable":true}"#)
        }
    }
}
