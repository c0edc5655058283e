import ReceiptBridgeBase
import Foundation
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing

@Suite("Imports of stored receipts")
struct ImportStoreTests {
    /// An import with rows in one app, of which each transaction is a chunk or a part of a file.
    private final class World {
        private let stage: StoreStage
        let run: Int64
        var store: any Store { stage.store }
        private var row: Int64 = 0

        init(_ engine: StoreTestEngine) async throws {
            stage = try await StoreStage(engine)
            run = try await stage.store.imports.beginImport("in.jsonl", progress: "{}").id
        }

        static func group(
            _ identifiers: String..., environment: String = "Production", isProven: Bool = true,
            download: String? = nil, expires: Int64? = nil, token: String? = nil
        ) -> ImportGroup {
            ImportGroup(
                bundleId: "com.example.app", environment: environment, identifiers: identifiers, isProven: isProven,
                download: download, expires: expires, accountToken: token)
        }

        /// Stores a row of each customer in one transaction.
        func add(_ customers: ImportGroup...) async throws {
            var batch = ImportBatch()
            for customer in customers {
                row += 1
                let values = ImportBatch.values([
                    "row": .integer(row), "rowId": .text("r\(row)\0"), "verified": .boolean(customer.claims == nil),
                    "transactionIds": .text("[\"77\"]"),
                ])
                batch.add(values, of: customer)
            }
            #expect(try await store.imports.add(batch, to: run, .progress("{}")))
        }

        func resolve() async throws {
            try await store.imports.reopen(.resolve, of: run)
            let lease = try #require(
                try await store.imports.claim(.resolve, of: run, for: "worker", lasting: .seconds(60)))
            try await store.imports.resolve(lease)
        }

        func waiting(isActiveFirst: Bool = false) async throws -> [ImportedCustomer] {
            var all: [ImportedCustomer] = []
            for scope in try await store.imports.scopes(of: run) {
                all += try await store.imports.waitingCustomers(
                    of: run, in: scope.id, isActiveFirst: isActiveFirst, except: [])
            }
            return all
        }

        func customer(_ identifiers: String...) async throws -> ImportedCustomer {
            try #require(try await waiting().first { $0.identifiers == identifiers })
        }

        /// Records the result of a lookup. Returns the number of customers that were merged.
        @discardableResult
        func record(_ result: CustomerLookupResult, _ customer: ImportedCustomer) async throws -> Int {
            let lease = try #require(try await store.imports.claim(.ask, of: run, for: "worker", lasting: .seconds(60)))
            let scopes = try await store.imports.scopes(of: run).map(\.id)
            return try await store.imports.record(result, of: customer, scopes, lease).count
        }

        func tally() async throws -> [ImportState: Int64] {
            try await store.imports.tally(of: run, store.imports.scopes(of: run).map(\.id))
        }
    }

    private static func known(_ identifiers: String...) -> CustomerLookupResult {
        let text = Array("[\(identifiers.map { "\"\($0)\"" }.joined(separator: ","))]".utf8)
        return .known(
            CustomerColumns(
                environment: "Production",
                APIColumns(appAppleId: 5, transactions: text, signedTransactions: text, revision: "r"),
                identifiers: identifiers))
    }

    @Test("Rows that share an identifier belong to one customer, in any order of rows", arguments: engines)
    func customers(on engine: StoreTestEngine) async throws {
        let world = try await World(engine)
        try await world.add(
            World.group("1"), World.group("2", "3", expires: 100), World.group("1", environment: "Sandbox"))
        try await world.add(World.group("5"), World.group("3", "4", expires: 300), World.group("5", "6", expires: 200))
        try await world.add(World.group("2", "1"))
        #expect(try await world.waiting().count == 4)
        try await world.resolve()
        #expect(try await world.waiting().map(\.identifiers) == [["1", "2", "3", "4"], ["5", "6"], ["1"]])
        #expect(
            try await world.waiting(isActiveFirst: true).map(\.identifiers) == [
                ["1", "2", "3", "4"], ["5", "6"], ["1"],
            ])
        #expect(try await world.waiting().map(\.environment) == ["Production", "Production", "Sandbox"])
        #expect(try await world.waiting().map(\.transactionIds) == [["77"], ["77"], ["77"]])
        let scopes = try await world.store.imports.scopes(of: world.run).map(\.id)
        #expect(try await world.store.imports.activeCustomers(of: world.run, scopes, at: 200) == 1)
    }

    @Test("Customers with the latest expiry dates come first, those without a date last", arguments: engines)
    func order(on engine: StoreTestEngine) async throws {
        let world = try await World(engine)
        try await world.add(
            World.group("1"), World.group("2", expires: 100), World.group("3", expires: 300),
            World.group("4", isProven: false, expires: 900), World.group("2", expires: 400))
        #expect(try await world.waiting(isActiveFirst: true).map(\.identifiers) == [["2"], ["3"], ["1"], ["4"]])
    }

    @Test("A history merges waiting customers with its identifiers, so that they are not looked up", arguments: engines)
    func histories(on engine: StoreTestEngine) async throws {
        let world = try await World(engine)
        try await world.add(
            World.group("1"), World.group("2"), World.group("1", isProven: false),
            World.group("1", "9", isProven: false), World.group("2", environment: "", isProven: false))
        #expect(try await world.record(Self.known("1", "2"), world.customer("1")) == 3)
        #expect(try await world.waiting().map(\.identifiers) == [["1", "9"]])
        #expect(try await world.tally() == [.known: 1, .waiting: 1])
        // What nothing proves merges no customers.
        #expect(try await world.record(Self.known("1", "9"), world.customer("1", "9")) == 0)
    }

    @Test(
        "Of customers that turn out to be the same, the one with data stays, and is looked up again",
        arguments: engines)
    func merged(on engine: StoreTestEngine) async throws {
        let world = try await World(engine)
        try await world.add(World.group("1"), World.group("2"))
        try await world.record(.notFound(reason: "4040010"), world.customer("1"))
        try await world.record(Self.known("2"), world.customer("2"))
        try await world.add(World.group("1", "2"))
        try await world.resolve()
        let waiting = try await world.waiting()
        #expect(waiting.map(\.identifiers) == [["1", "2"]] && waiting.first?.previousLookup?.revision == "r")
        try await world.record(Self.known("1", "2"), world.customer("1", "2"))
        // An identifier in the history needs no lookup, another one does.
        try await world.add(World.group("2"))
        #expect(try await world.waiting().isEmpty)
        try await world.add(World.group("2", "7"))
        #expect(try await world.waiting().map(\.identifiers) == [["1", "2", "7"]])
    }

    @Test(
        "Failed lookups are retried, those that were not found are not, and a refresh keeps the data",
        arguments: engines)
    func failures(on engine: StoreTestEngine) async throws {
        let world = try await World(engine)
        try await world.add(World.group("1"), World.group("2"), World.group(download: "9"))
        try await world.record(.failed(reason: "deadline"), world.customer("1"))
        try await world.record(.notFound(reason: "4040010"), world.customer("2"))
        #expect(try await world.waiting().map(\.appTransactionId) == ["9"])
        try await world.store.imports.retryFailedCustomers(of: world.run, before: .max)
        #expect(try await world.waiting().map(\.identifiers) == [["1"], []])
        try await world.record(Self.known("1"), world.customer("1"))
        try await world.store.imports.refreshCustomers(of: world.run, progress: "{}")
        #expect(try await world.tally() == [.waiting: 3])
        try await world.record(.failed(reason: "deadline"), world.customer("1"))
        #expect(try await world.store.imports.staleCustomers(of: world.run) == 1)
    }

    @Test("A customer has a token if its rows have the same one, and none if they have two", arguments: engines)
    func tokens(on engine: StoreTestEngine) async throws {
        let world = try await World(engine)
        try await world.add(World.group("1", token: "AB"), World.group("1", token: "ab"), World.group("2", token: "cd"))
        try await world.add(World.group("1", token: "aB"), World.group("3", isProven: false, token: "x"))
        #expect(try await world.waiting().map(\.accountToken) == ["AB", "cd", nil])
        try await world.record(Self.known("2"), world.customer("2"))
        #expect(try await world.store.imports.customersWithToken(of: world.run, after: 0, limit: 9).count == 1)
        try await world.add(World.group("1", "2"))
        try await world.resolve()
        #expect(try await world.store.imports.customersWithSeveralTokens(of: world.run) == 1)
        // Also if only a history shows that two customers are the same.
        try await world.add(World.group("5", token: "ef"), World.group("6", token: "gh"))
        try await world.record(Self.known("5", "6"), world.customer("5"))
        #expect(try await world.store.imports.customersWithSeveralTokens(of: world.run) == 2)
    }

    @Test(
        "An account token selects customers by the token of a row, and by that of a transaction that was found",
        arguments: engines)
    func erasedToken(on engine: StoreTestEngine) async throws {
        let world = try await World(engine)
        let token = UUID()
        try await world.add(
            World.group("7301", token: token.uuidString), World.group("7302", isProven: false),
            World.group("7303", "7304", isProven: false), World.group("7305", token: "ab"))
        for ids in [["7302"], ["7303", "7304"]] {
            let customer = try #require(try await world.waiting().first { $0.identifiers == ids })
            try await world.record(Self.known(ids[0], token.uuidString.lowercased()), customer)
        }
        let request = ErasureRequest(.accountToken(token))
        let erasure = try await world.store.personalData.erase(request, at: Timestamp(milliseconds: 9_000))
        // Which of several ids that nothing proves has the token is not known.
        #expect(erasure.kinds.map { "\($0.name) \($0.count)" } == ["importedRows 2", "importCustomers 4"])
        #expect(try await world.waiting().map(\.identifiers) == [["7305"]])
    }

    @Test("A chunk whose lease has passed to another worker stores nothing", arguments: engines)
    func leases(on engine: StoreTestEngine) async throws {
        let world = try await World(engine)
        let imports = world.store.imports
        let plan = try #require(try await imports.claim(.plan, of: world.run, for: "a", lasting: .seconds(60)))
        #expect(try await imports.claim(.plan, of: world.run, for: "b", lasting: .seconds(60)) == nil)
        try await imports.add(
            [(0, ImportChunk(first: nil, last: "7", rows: 3)), (1, ImportChunk(first: "7", last: "9", rows: nil))],
            areLast: true, plan)
        let shard = try #require(ImportShard("1/2"))
        let late = try #require(try await imports.claimChunk(of: world.run, shard, for: "a", lasting: .zero))
        let chunk = try #require(try await imports.claimChunk(of: world.run, shard, for: "b", lasting: .seconds(60)))
        #expect(late.number == 0 && chunk.number == 0 && chunk.chunk == ImportChunk(first: nil, last: "7", rows: 3))
        #expect(try await imports.claimChunk(of: world.run, shard, for: "c", lasting: .seconds(60)) == nil)
        var batch = ImportBatch()
        batch.add(ImportBatch.values(["row": .integer(1)]), of: World.group("1"))
        #expect(try await !imports.add(batch, to: world.run, .chunk(late, counts: "{}")))
        #expect(try await imports.renew([late, chunk], lasting: .seconds(60)) == [chunk])
        #expect(try await imports.add(batch, to: world.run, .chunk(chunk, counts: "{}")))
        #expect(try await imports.tally(of: world.run, shard)?.isComplete == true)
        #expect(try await imports.tally(of: world.run, .whole)?.open == 1)
        #expect(try await imports.counts(of: world.run, shard, after: -1).map(\.counts) == ["{}"])
        #expect(try await world.waiting().count == 1)
    }

    @Test("A shard is I/N", arguments: ["1/4", "4/4", "0/4", "5/4", "1/0", "1", "a/b", "-1/4", "1/2/3", "1/10001"])
    func shard(text: String) { #expect((ImportShard(text) != nil) == ["1/4", "4/4"].contains(text)) }
}
