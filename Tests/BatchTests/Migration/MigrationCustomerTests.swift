import ReceiptBridgeBase
import ReceiptBridgeBatch
import Foundation
import ReceiptBridgeComparison
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import Synchronization
import Testing
import ReceiptBridgeTestSupport

@Suite("Migration with lookups in the Server API")
struct MigrationCustomerTests {
    /// A lookup service whose customers are identified by the ids in their histories.
    final class LookupServiceStub: CustomerLookupService {
        private struct State {
            var requested: [[String]] = []
            var responded: [[String]] = []
            /// Number of lookups that still get a response; `nil` for no limit.
            var remainingResponses: Int?
            var failing: Set<String> = []
            var rejectsKey = false
            var tokens: [String] = []
        }

        private let histories: [[String]]
        private let whenAsked: @Sendable () -> Void
        private let state = Mutex(State())

        /// - Parameter histories: All ids of each customer. Other customers are unknown.
        init(_ histories: [[String]], whenAsked: @escaping @Sendable () -> Void = {}) {
            (self.histories, self.whenAsked) = (histories, whenAsked)
        }

        var requested: [[String]] { state.withLock { $0.requested } }
        var responded: [[String]] { state.withLock { $0.responded } }
        var tokens: [String] { state.withLock { $0.tokens } }
        func fail(_ ids: Set<String>) { state.withLock { $0.failing = ids } }
        func rejectKey(_ rejectsKey: Bool) { state.withLock { $0.rejectsKey = rejectsKey } }
        func rejectKey(after answers: Int?) { state.withLock { $0.remainingResponses = answers } }

        func handles(_ bundleId: String) -> Bool { bundleId == SimulatedApp.first.bundleId }

        func lookUp(_ customer: ImportedCustomer) async -> CustomerAnswer {
            whenAsked()
            let (fails, rejectsKey) = state.withLock { state in
                state.requested.append(customer.identifiers)
                let rejectsKey = state.rejectsKey || state.remainingResponses == 0
                state.remainingResponses = state.remainingResponses.map { max($0 - 1, 0) }
                if !rejectsKey { state.responded.append(customer.identifiers) }
                return (!state.failing.isDisjoint(with: customer.identifiers), rejectsKey)
            }
            if rejectsKey { return .giveUp(.rejectedKey, reason: "no key") }
            if fails { return .found(.failed(reason: "deadline")) }
            let history = histories.first { !Set($0).isDisjoint(with: customer.identifiers) }
            guard let history else { return .found(.notFound(reason: "4040010")) }
            let text = Array("[\(history.map { "\"\($0)\"" }.joined(separator: ","))]".utf8)
            return .found(
                .known(
                    CustomerColumns(
                        environment: customer.environment,
                        APIColumns(appAppleId: 1, transactions: text, signedTransactions: text, revision: "r1"),
                        identifiers: history)))
        }

        func setAccountToken(_ token: String, of identifier: String, customer: ImportedCustomer) async -> String? {
            state.withLock { state in
                if state.failing.contains(identifier) { return "4000187" }
                state.tokens.append("\(identifier) \(token)")
                return nil
            }
        }

        var usage: (calls: Int64, left: Int64?) { (Int64(requested.count), 100) }
        var callsPerHour: Double { 100 }
    }

    private func api(_ options: inout MigrationOptions) { options.persisted.withAPI = true }

    @Test("Each customer is looked up once for any number of receipts, and the data is written to all rows")
    func once() async throws {
        let world = try MigrationWorld()
        // An unsigned line states another environment, so such a customer is looked up in both.
        let rows = world.rows.filter { !$0.id.contains("environmentLine") }
        try world.write(rows)
        let lookups = LookupServiceStub(try MigrationWorld.histories())
        let ending = try await world.run(lookups: lookups, api)
        #expect(ending.stop == nil && ending.customers?.known == ending.customers?.all)
        let customers = Set(lookups.requested.flatMap { $0 })
        #expect(lookups.requested.flatMap { $0 }.count == customers.count, "a customer was looked up twice")
        let results = try world.results()
        #expect(results.map { $0["id"]?.text } == rows.map(\.id))
        for (row, result) in zip(rows, results) {
            #expect(result["outcome"]?.text == (row.expected == "decoded" ? "migrated" : row.expected), "\(row.id)")
            let told = result["transactions"]?.elements?.compactMap(\.text) ?? []
            let ids = result["originalTransactionIds"]?.elements?.compactMap(\.text) ?? []
            #expect(row.expected != "decoded" || Set(ids).isSubset(of: told))
            #expect(result["revision"] == (row.expected == "decoded" ? .string("r1") : .null))
        }
        let requested = lookups.requested.count
        let again = try await world.run(lookups: lookups, api)
        #expect(again.wasFinished && lookups.requested.count == requested)
    }

    @Test("Only customers with a temporary failure are retried; their rows are in the result meanwhile")
    func failures() async throws {
        let world = try MigrationWorld()
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        let lookups = LookupServiceStub(try MigrationWorld.histories())
        lookups.fail(Set(receipt.originalTransactionIds))
        let first = try await world.run(lookups: lookups, api)
        #expect(first.stop == nil && first.counts.hasFailures && first.customers?.failed == 1)
        func row() throws -> JSONValue? { try world.results().first { $0["id"]?.text == receipt.id } }
        #expect(try row()?["outcome"]?.text == "failed")
        #expect(try row()?["reason"]?.text == "deadline")
        lookups.fail([])
        let requested = lookups.requested.count
        let second = try await world.run(lookups: lookups, api)
        #expect(second.stop == nil && second.customers?.failed == 0)
        #expect(lookups.requested.count == requested + 1)
        #expect(try row()?["outcome"]?.text == "migrated")
        #expect(try world.results().count == world.rows.count)
    }

    @Test("A result that cannot be written leaves no draft, and the next run writes it without a lookup")
    func noDraft() async throws {
        let world = try MigrationWorld()
        let destination = world.destination
        let lookups = LookupServiceStub(try MigrationWorld.histories()) {
            try? FileManager.default.createDirectory(at: destination, withIntermediateDirectories: false)
        }
        await #expect(throws: RunError.self) { try await world.run(lookups: lookups, api) }
        try FileManager.default.removeItem(at: destination)
        let files = try FileManager.default.contentsOfDirectory(atPath: world.folder.url.path)
        #expect(files.sorted() == ["in.jsonl", "out.jsonl.progress"])
        let requested = lookups.requested.count
        let ending = try await world.run(lookups: lookups, api)
        #expect(ending.stop == nil && lookups.requested.count == requested && requested > 0)
        #expect(try world.results().count == world.rows.count)
    }

    @Test("A rejected key stops the run with every row in the result, and the run resumes when it is accepted")
    func refusedKey() async throws {
        let world = try MigrationWorld()
        let lookups = LookupServiceStub(try MigrationWorld.histories())
        lookups.rejectKey(true)
        let ending = try await world.run(lookups: lookups, api)
        #expect(ending.stop == .rejectedKey)
        #expect(try world.results().count == world.rows.count)
        #expect(try world.results().contains { $0["reason"]?.text == "notAskedYet" })
        lookups.rejectKey(false)
        let second = try await world.run(lookups: lookups, api)
        #expect(second.stop == nil && second.counts.count(of: .failed) == 0)
    }

    @Test("A receipt that is not authentic is looked up only with --allow-unverified, and is marked")
    func unverified() async throws {
        let tampered = try #require(SharedSimulator.hostile.first { $0.mangling == "tamperedByte" })
        let receipt = try SharedSimulator.receipt(.activeSubscription)
        let row = MigrationWorld.Row(id: "t", receipt: tampered.text, expected: "refused")
        let strict = try MigrationWorld()
        try strict.write([row])
        let lookups = LookupServiceStub([receipt.originalTransactionIds + tampered.originalTransactionIds])
        _ = try await strict.run(lookups: lookups, api)
        #expect(lookups.requested.isEmpty)
        #expect(try strict.results().first?["outcome"]?.text == "refused")
        let lenient = try MigrationWorld()
        try lenient.write([row])
        _ = try await lenient.run(lookups: lookups) {
            api(&$0)
            $0.persisted.allowUnverified = true
        }
        let result = try #require(try lenient.results().first)
        #expect(result["outcome"]?.text == "migrated" && result["verified"] == .bool(false))
        #expect(lookups.requested.count == 1)
    }

    @Test("Rows of several ids of one customer share its lookup, but not with a row that also names another customer")
    func claims() async throws {
        let world = try MigrationWorld()
        let histories = [(0..<40).map { "73\($0 + 10)" }, ["9001", "9002"]]
        let lines = [#"["9001","7310"]"#] + histories[0].map { "\"\($0)\"" } + ["\"9002\""]
        let text = lines.map { "{\"receipt\":\($0)}\n" }.joined()
        try Data(text.utf8).write(to: world.source)
        let lookups = LookupServiceStub(histories)
        _ = try await world.run(lookups: lookups) {
            api(&$0)
            $0.workers = 1
            $0.persisted.allowUnverified = true
            $0.persisted.app = SimulatedApp.first.bundleId
        }
        #expect(Set(lookups.requested) == [["7310", "9001"], ["7310"], ["7311"], ["9002"]])
        #expect(lookups.requested.count == 4)
        let found = try world.results().map { $0["transactions"]?.elements?.compactMap(\.text) }
        #expect(found.dropFirst() == (Array(repeating: histories[0], count: 40) + [histories[1]])[...])
    }

    @Test("Ids are not accepted without a lookup, whatever the options say")
    func neverAccepted() async throws {
        let answer = #"{"receipt":{"bundle_id":"com.example.other","in_app":[{"transaction_id":"7"}]}}"#
        for (lookups, app, reasons) in [
            (nil, nil, ["needsWithAPI", "needsWithAPI"]),
            (LookupServiceStub([]), nil, ["bundleIdRequired", "anotherApp"]),
            (LookupServiceStub([]), SimulatedApp.first.bundleId, ["4040010", "anotherApp"]),
        ] as [(LookupServiceStub?, String?, [String])] {
            let world = try MigrationWorld()
            try Data("{\"receipt\":7}\n{\"receipt\":\(answer)}\n".utf8).write(to: world.source)
            _ = try await world.run(lookups: lookups) {
                $0.persisted.withAPI = lookups != nil
                $0.persisted.allowUnverified = true
                $0.persisted.app = app
            }
            #expect(try world.results().map { $0["reason"]?.text } == reasons)
        }
    }

    @Test(
        "A forged row that claims ids of others changes neither the data nor the account tokens of authentic rows")
    func forged() async throws {
        let tampered = try #require(SharedSimulator.hostile.first { $0.mangling == "tamperedByte" })
        let first = try SharedSimulator.receipt(.activeSubscription, tampered.environment)
        let second = try SharedSimulator.receipt(.nonConsumable, tampered.environment)
        let claims = first.originalTransactionIds + second.originalTransactionIds
        let lines = claims.map { "{\"original_transaction_id\":\"\($0)\"}" }.joined(separator: ",")
        let answer = "{\"status\":0,\"latest_receipt\":\"\(tampered.text)\",\"latest_receipt_info\":[\(lines)]}"
        let genuine: [(String, String, String?)] = [("a", first.base64, "user-a"), ("b", second.base64, "user-b")]
        let forged: (String, String, String?) = ("f", answer, "user-f")
        func outcome(_ rows: [(String, String, String?)]) async throws -> (results: [JSONValue], tokens: [String]) {
            let world = try MigrationWorld()
            try world.write(rows)
            let lookups = LookupServiceStub([first.originalTransactionIds, second.originalTransactionIds])
            _ = try await world.run(lookups: lookups) {
                api(&$0)
                $0.persisted.allowUnverified = true
                $0.persisted.source.accountTokenColumn = "user"
                $0.setsAccountTokens = true
            }
            return (try world.results().map(\.withoutSource), lookups.tokens.sorted())
        }
        let undisturbed = try await outcome(genuine)
        #expect(undisturbed.results.allSatisfy { $0["outcome"]?.text == "migrated" })
        for rows in [[forged] + genuine, genuine + [forged]] {
            let (results, tokens) = try await outcome(rows)
            #expect(results.filter { $0["id"]?.text != "f" } == undisturbed.results)
            #expect(tokens == undisturbed.tokens)
            let marked = try #require(results.first { $0["id"]?.text == "f" })
            #expect(marked["outcome"]?.text == "migrated" && marked["verified"] == .bool(false))
        }
    }

    @Test("A run stops at its row limit, and the next run resumes after it")
    func limit() async throws {
        let world = try MigrationWorld()
        let lookups = LookupServiceStub(try MigrationWorld.histories())
        var runs = 0
        while try await world.run(
            lookups: lookups,
            {
                api(&$0); $0.limits.items = 20
            }
        ).stop != nil { runs += 1 }
        #expect(runs >= world.rows.count / 20)
        #expect(try world.results().map { $0["id"]?.text } == world.rows.map(\.id))
    }

    @Test("Account tokens are set only with --set-account-tokens; without it the run reports what it would set")
    func accountTokens() async throws {
        let world = try MigrationWorld()
        let first = try SharedSimulator.receipt(.activeSubscription)
        let second = try SharedSimulator.receipt(.nonConsumable)
        let token = "11111111-2222-4333-8444-555555555555"
        let spellings = [token, token.uppercased(), token.replacing("-", with: "")]
        try world.write(
            spellings.map { ($0, first.base64, $0) } + ["a", "b"].map { ($0, second.base64, $0) })
        let lookups = LookupServiceStub(try MigrationWorld.histories())
        @discardableResult
        func run(setsTokens: Bool) async throws -> MigrationResult {
            try await world.run(lookups: lookups) {
                api(&$0)
                $0.persisted.source.accountTokenColumn = "user"
                $0.setsAccountTokens = setsTokens
            }
        }
        #expect(try await run(setsTokens: false).customersWithoutToken == 0)
        #expect(lookups.tokens.isEmpty)
        let count = Set(first.originalTransactionIds).count
        #expect(
            world.messages.contains { $0.contains("\(count) purchases of 1 customers would be set") },
            "\(world.messages)")
        #expect(world.messages.contains { $0.contains("1 customers have rows with different account tokens") })
        lookups.fail(Set(first.originalTransactionIds))
        let failed = try await run(setsTokens: true)
        #expect(failed.customersWithoutToken == 2 && failed.hasFailures)
        #expect(lookups.tokens.isEmpty)
        #expect(
            world.messages.contains(
                "account tokens: not set for 1 customers: not an original transaction id (4000187)"),
            "\(world.messages)")
        lookups.fail([])
        for _ in 0..<2 { #expect(try await run(setsTokens: true).customersWithoutToken == 1) }
        #expect(lookups.tokens.sorted() == Set(first.originalTransactionIds).map { "\($0) \(token)" }.sorted())
    }

    @Test("The preview of account tokens names those that are not UUIDs")
    func malformedAccountTokens() async throws {
        let world = try MigrationWorld()
        let (first, second) = (
            try SharedSimulator.receipt(.activeSubscription), try SharedSimulator.receipt(.nonConsumable)
        )
        try world.write([
            ("a", first.base64, "user-123"), ("b", second.base64, "11111111222243338444555555555555"),
        ])
        _ = try await world.run(lookups: LookupServiceStub(try MigrationWorld.histories())) {
            api(&$0)
            $0.persisted.source.accountTokenColumn = "user"
        }
        let purchases = Set(second.originalTransactionIds).count
        let expected =
            "account tokens: \(purchases) purchases of 1 customers would be set, 1 token is not a UUID; "
            + "use --set-account-tokens to set them"
        #expect(world.messages.contains(expected), "\(world.messages)")
    }
}
