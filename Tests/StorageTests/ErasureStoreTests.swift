import ReceiptBridgeBase
import Foundation
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing

@Suite("Erasure of a customer from the store")
struct ErasureStoreTests {
    private static let now = Timestamp(milliseconds: 9_000)
    private static let token = "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f"
    private static let otherToken = "00000000-6f2b-4c8a-9d3e-7a1b2c3d4e5f"
    private static let (mine, other) = ("73000000000000", "84000000000000")

    private func request(_ id: String = "\(mine)1", keeps: Bool = false) throws -> ErasureRequest {
        ErasureRequest(.transaction(try #require(TransactionIdentifier(rawValue: id))), keepsRevocations: keeps)
    }

    private func fill(_ prefix: String, token: String?, on stage: StoreStage) async throws {
        try await CustomerDataFixture(prefix, token: token, in: stage.scope).save(to: stage.store)
    }

    private func save(_ transactions: [TransactionRow], aliases: [String] = [], on stage: StoreStage) async throws {
        try await stage.save(CustomerRow(transactions, at: Self.now.milliseconds, aliases: aliases))
    }

    @Test("An erasure deletes the customer from every repository, and keeps other customers", arguments: engines)
    func whole(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let data = stage.store.personalData
        try await fill(Self.other, token: Self.otherToken, on: stage)
        let neighbor = try await data.footprint(of: request("\(Self.other)1"))
        try await fill(Self.mine, token: Self.token, on: stage)
        let preview = try await data.footprint(of: request())
        #expect(try await data.lastErasure() == nil)
        let erasure = try await data.erase(request(), at: Self.now)
        #expect(erasure == preview && erasure.scopes == [stage.scope])
        #expect(erasure.kinds.map { "\($0.name) \($0.count)" } == CustomerDataFixture.kinds)
        #expect(erasure.waitingDeliveries == 2)
        let last = try await data.lastErasure()
        #expect(last != nil)
        for id in ["\(Self.mine)1", "\(Self.mine)2", "\(Self.mine)8", "\(Self.mine)9"] {
            #expect(try await data.footprint(of: request(id)).isEmpty, "\(id)")
        }
        #expect(try await data.erase(request(), at: Self.now).isEmpty)
        #expect(try await data.lastErasure() == last)
        #expect(try await data.footprint(of: request("\(Self.other)1")) == neighbor)
        #expect(neighbor.kinds.map { "\($0.name) \($0.count)" } == CustomerDataFixture.kinds)
    }

    @Test(
        "An account token selects all customers with the token in a record, case-insensitively, and no others",
        arguments: engines)
    func token(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let data = stage.store.personalData
        try await fill(Self.other, token: Self.otherToken, on: stage)
        try await fill(Self.mine, token: Self.token, on: stage)
        let sandbox = stage.scope.sandbox
        try await CustomerDataFixture("20000000000000", token: Self.token, in: sandbox).save(to: stage.store)
        let token = try #require(UUID(uuidString: Self.token))
        let narrow = try await data.footprint(of: ErasureRequest(.accountToken(token), environment: .sandbox))
        #expect(narrow.scopes == [sandbox])
        let unknown = try #require(BundleIdentifier(rawValue: "com.example.other"))
        #expect(try await data.erase(ErasureRequest(.accountToken(token), bundleId: unknown), at: Self.now).isEmpty)
        let erasure = try await data.erase(ErasureRequest(.accountToken(token)), at: Self.now)
        #expect(erasure.scopes == [stage.scope, sandbox])
        #expect(erasure.kinds.first { $0.name == "transactions" }?.count == 4)
        #expect(try await data.footprint(of: ErasureRequest(.accountToken(token))).isEmpty)
        let otherToken = try #require(UUID(uuidString: Self.otherToken))
        #expect(try await !data.footprint(of: ErasureRequest(.accountToken(otherToken))).isEmpty)
    }

    @Test(
        "A customer known only from an archived response is found by every id and by the token in it, with all purchases",
        arguments: engines)
    func answers(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let data = stage.store.personalData
        func archive(_ question: String, _ ids: [String], _ token: String) async throws {
            let rows = ids.map { #"{"transaction_id":"\#($0)","app_account_token":"\#(token)"}"# }
            _ = try await stage.store.archive.save(
                ArchivedResponseRow(
                    question: Array(question.utf8), status: 0,
                    body: Array("{\"latest_receipt_info\":[\(rows.joined(separator: ","))]}".utf8), latestReceipt: nil,
                    digest: [1], originals: [ids[0]]), of: stage.scope, at: Self.now)
        }
        try await archive("a", ["91000000000001", "91000000000002"], Self.token)
        try await archive("b", ["92000000000001", "92000000000002"], Self.otherToken)
        let token = try #require(UUID(uuidString: Self.token))
        let byToken = try await data.footprint(of: ErasureRequest(.accountToken(token)))
        #expect(byToken.kinds == [.init(name: "lastGoodAnswers", count: 1)])
        #expect(try await data.footprint(of: request("91000000000002")) == byToken)
        // The history does not contain that period yet.
        try await save([CustomerDataFixture.transaction("91000000000001", "91000000000001")], on: stage)
        let erasure = try await data.erase(request("91000000000002"), at: Self.now)
        #expect(erasure.kinds.map(\.name) == ["transactions", "customers", "events", "lastGoodAnswers"])
        #expect(try await stage.store.archive.archivedResponse(to: Array("a".utf8)) == nil)
        #expect(try await stage.store.archive.archivedResponse(to: Array("b".utf8)) != nil)
    }

    @Test(
        "Purchases that only receipts connect are found with all their renewals, in any order of the receipts",
        arguments: engines)
    func receipts(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let data = stage.store.personalData
        let (first, second, third, other) = ("61000000000001", "62000000000001", "63000000000001", "64000000000001")
        let renewal = "62000000000002"
        for (id, original) in [(first, first), (second, second), (renewal, second), (third, third), (other, other)] {
            let row = CustomerDataFixture.transaction(id, original)
            try await stage.receive(
                NotificationRow(
                    id, at: Self.now.milliseconds,
                    text: CustomerDataFixture.jws("{\"data\":{\"signedTransactionInfo\":\"\(row.text)\"}}")),
                NotificationUpdate(transaction: row))
        }
        // The receipt that leads to the third purchase is read before the one that leads to the second.
        let receipts: [(digest: [UInt8], originals: [String])] = [([1], [second, third]), ([2], [first, second])]
        for receipt in receipts {
            try await stage.store.revocations.saveIdentifiers(
                CustomerIdentifiers(receipt.originals), of: receipt.digest,
                at: Self.now)
        }
        let preview = try await data.footprint(of: request(renewal))
        let erasure = try await data.erase(request(first), at: Self.now)
        #expect(erasure == preview)
        #expect(erasure.kinds.first { $0.name == "transactions" }?.count == 4)
        #expect(erasure.kinds.first { $0.name == "learntIdentifiers" }?.count == 2)
        for id in [first, second, renewal, third] {
            #expect(try await data.footprint(of: request(id)).isEmpty, "\(id)")
        }
        #expect(try await !data.footprint(of: request(other)).isEmpty)
    }

    @Test("Customers with the same alias are erased as one customer", arguments: engines)
    func sharedAlias(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let ids = ["61000000000001", "62000000000001"]
        for id in ids {
            try await save([CustomerDataFixture.transaction(id, id)], aliases: ["65000000000001"], on: stage)
        }
        let erasure = try await stage.store.personalData.erase(request(ids[0]), at: Self.now)
        #expect(erasure.kinds.first { $0.name == "customers" }?.count == 2)
        #expect(try await stage.store.personalData.footprint(of: request(ids[1])).isEmpty)
    }

    @Test("Only the ids and dates of refunded purchases can be kept", arguments: engines)
    func revocations(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await fill(Self.mine, token: Self.token, on: stage)
        let erasure = try await stage.store.personalData.erase(request(keeps: true), at: Self.now)
        #expect(erasure.keptRevocations == 2 && !erasure.kinds.contains { $0.name == "revocations" })
        let remaining = try await stage.store.revocations.revoked(in: stage.scope)
        #expect(Set(remaining) == [RevocationRow("\(Self.mine)2", at: 4_000), RevocationRow("\(Self.mine)9")])
    }

    @Test(
        "A customer is found by an alias, and an alias that is another customer's id is not erased",
        arguments: engines)
    func aliases(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let data = stage.store.personalData
        try await fill(Self.mine, token: nil, on: stage)
        #expect(try await data.footprint(of: request("\(Self.mine)8")) == data.footprint(of: request()))
        let other = CustomerDataFixture.transaction("\(Self.mine)8", "\(Self.mine)8", download: "99999999999999")
        try await save([other], on: stage)
        #expect(try await !data.erase(request(), at: Self.now).isEmpty)
        #expect(try await stage.find(["\(Self.mine)8"])?.transactions == [other.text])
    }
}
