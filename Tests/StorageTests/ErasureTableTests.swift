import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing

/// What an erasure leaves in the tables of a store. `ErasureStoreTests` has the rules that its methods show.
@Suite("Erasure from the tables of a store")
struct ErasureTableTests {
    @Test("Every table is either erased or exempt with a reason", arguments: engines)
    func everyTable(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let rules = ErasureRule.erased(engine.dialect)
        var exempt: [String] = []
        for table in StoreTable.all(of: engine.dialect) {
            if case .exempt(let reason) = table.data.erasure, !reason.isEmpty { exempt.append(table.name) }
        }
        #expect(Set(exempt).isDisjoint(with: rules.map(\.table)))
        // The table of applied schema steps.
        let steps = engine == .sqlite ? "grdb_migrations" : "schemaStep"
        let declared = (rules.map(\.table) + exempt + [steps]).map { $0.lowercased() }
        #expect(try await Set(stage.counts().keys) == Set(declared))
    }

    @Test("An erasure deletes the rows of the customer from every table, and no others", arguments: engines)
    func whole(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await CustomerDataFixture("84000000000000", token: nil, in: stage.scope).save(to: stage.store)
        let alone = try await stage.counts()
        try await CustomerDataFixture(
            "73000000000000", token: "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f", in: stage.scope
        ).save(to: stage.store)
        let both = try await stage.counts()
        for table in ErasureRule.erased(engine.dialect).map({ $0.table.lowercased() }) {
            #expect(try #require(both[table]) > #require(alone[table]), "\(table) is not tested")
        }
        let id = try #require(TransactionIdentifier(rawValue: "730000000000001"))
        _ = try await stage.store.personalData.erase(
            ErasureRequest(.transaction(id)), at: Timestamp(milliseconds: 9_000))
        var after = try await stage.counts()
        #expect(after["erasure"] == 1)
        after["erasure"] = 0
        var expected = alone
        // What stays of the customer's two keys.
        expected["events", default: 0] += 2
        for table in ["difference", "comparisonflush"] { expected[table] = both[table] }
        #expect(after == expected)
    }
}
