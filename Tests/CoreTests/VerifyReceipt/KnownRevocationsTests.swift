import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeSimulator
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

@Suite("Known revocations")
struct KnownRevocationsTests {
    /// Something that Apple said about one purchase, in minutes.
    enum Fact: Sendable, CustomTestStringConvertible {
        case signed(Int64, isRevoked: Bool)
        case asked(Int64, isRevoked: Bool)

        var testDescription: String {
            switch self {
            case .signed(let minute, let isRevoked): "signed at \(minute): \(isRevoked ? "revoked" : "valid")"
            case .asked(let minute, let isRevoked): "asked at \(minute): \(isRevoked ? "revoked" : "valid")"
            }
        }
    }

    enum Place: Sendable, CaseIterable { case noStore, storeNotOpen, store, storeOfNextStart }

    struct Case: Sendable, CustomTestStringConvertible {
        let facts: [Fact]
        let isRevoked: Bool

        init(_ facts: [Fact], _ isRevoked: Bool) { (self.facts, self.isRevoked) = (facts, isRevoked) }

        var testDescription: String { facts.map(\.testDescription).joined(separator: ", ") }
    }

    static let cases = [
        Case([], false),
        Case([.signed(0, isRevoked: true)], true),
        Case([.asked(0, isRevoked: true)], true),
        Case([.signed(0, isRevoked: true), .signed(1, isRevoked: false)], false),
        Case([.signed(1, isRevoked: true), .signed(0, isRevoked: false)], true),
        Case([.asked(0, isRevoked: true), .asked(1, isRevoked: false)], false),
        Case([.asked(1, isRevoked: true), .asked(0, isRevoked: false)], true),
        Case([.signed(0, isRevoked: true), .asked(4, isRevoked: false)], true),
        Case([.signed(0, isRevoked: true), .asked(5, isRevoked: false)], false),
        Case([.asked(5, isRevoked: true), .signed(0, isRevoked: false)], true),
        Case([.asked(4, isRevoked: true), .signed(0, isRevoked: false)], false),
        Case([.asked(0, isRevoked: true), .asked(1, isRevoked: false), .asked(2, isRevoked: true)], true),
    ]

    private let scope: AppScope

    init() throws {
        scope = try AppScope.of()
    }

    private func start(_ store: (any Store)?) throws -> ServiceComponents {
        try ServiceComponents(settings: ProxyConfiguration(), transport: nil, store: store, logger: .silent)
    }

    private func record(_ fact: Fact, in known: ServiceComponents, hasStore: Bool) throws {
        switch fact {
        case .signed(let minute, let isRevoked):
            var payload = TransactionPayload()
            (payload.transactionId, payload.webOrderLineItemId) = ("10", "w10")
            payload.signedDate = SharedSimulator.noon.advanced(by: .minutes(minute))
            payload.revocationDate = isRevoked ? SharedSimulator.noon : nil
            let records = CustomerRecords(
                environment: .production, bundleId: "com.example.app", appAppleId: nil,
                transactions: [Signed(payload: payload, text: "")], subscriptions: [], revision: nil)
            let facts = known.revocations.record(records, in: scope)
            if hasStore { known.revocations.settle(facts, in: scope, areStored: false) }
        case .asked(let minute, let isRevoked):
            let date = isRevoked ? #","cancellation_date_ms":"\#(SharedSimulator.noon.milliseconds)""# : ""
            let body = #"{"latest_receipt_info":[{"transaction_id":"10","web_order_line_item_id":"w10"\#(date)}]}"#
            known.revocations.record(
                try ResponseDocument(Array(body.utf8)).revocationStates, in: scope,
                askedAt: SharedSimulator.noon.advanced(by: .minutes(minute)))
        }
    }

    /// Whether the purchase is revoked, by its transaction id and by its line item.
    private func shown(in known: ServiceComponents) async -> [Bool] {
        var found: [Bool] = []
        for purchase in [PurchaseIdentifier.transaction("10"), .lineItem("w10")] {
            let (index, _) = await known.revocations.revocations(of: [purchase], in: scope, within: .seconds(5))
            found.append(
                index.revocation(transactionId: purchase == .transaction("10") ? "10" : nil, webOrderLineItemId: "w10")
                    != nil)
        }
        return found
    }

    @Test("The later of two facts counts, wherever it is kept", arguments: cases, Place.allCases)
    func order(sample: Case, place: Place) async throws {
        let folder = try TemporaryFolder()
        let store: SQLiteStore? =
            switch place {
            case .noStore: nil
            case .storeNotOpen:
                SQLiteStore(opening: folder.path("missing/bridge.sqlite"), pauses: [.seconds(60)]) { _ in }
            case .store, .storeOfNextStart: try SQLiteStore(path: folder.path("bridge.sqlite"))
            }
        var known = try start(store)
        if store?.isOpen == true { await known.whenLoaded() }
        for fact in sample.facts {
            try record(fact, in: known, hasStore: store != nil)
            #expect(Set(await shown(in: known)).count == 1)
            if place != .storeNotOpen { await known.finishWriting() }
        }
        if place == .storeOfNextStart {
            known = try start(store)
            await known.whenLoaded()
        }
        #expect(await shown(in: known) == [sample.isRevoked, sample.isRevoked])
    }

    @Test("A refund that cannot be written counts, and is written when the store is back")
    func outage() async throws {
        let folder = try TemporaryFolder()
        let store = SQLiteStore(opening: folder.path("missing/bridge.sqlite"), pauses: [.milliseconds(20)]) { _ in }
        let known = try start(store)
        try record(.asked(0, isRevoked: true), in: known, hasStore: true)
        try record(.asked(0, isRevoked: true), in: known, hasStore: true)
        await known.finishWriting()
        #expect(await shown(in: known) == [true, true])
        try folder.write("missing/file", "the folder is there")
        #expect(await eventually { store.isOpen })
        await known.finishWriting()
        let rows = try await store.revocations(of: ["10"], lineItems: [], in: scope)
        #expect(rows.map(\.askedAt) == [SharedSimulator.noon] && rows.map(\.webOrderLineItemId) == ["w10"])
        #expect(await shown(in: known) == [true, true])
    }

    @Test("The store is asked only about purchases that may be revoked, and about all until it is loaded")
    func reads() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        let known = try start(store)
        await known.whenLoaded()
        try record(.asked(0, isRevoked: true), in: known, hasStore: true)
        await known.finishWriting()
        // A closed store answers no question. Complete is what needed none.
        await store.close()
        func isComplete(_ purchase: PurchaseIdentifier, _ environment: AppStoreEnvironment = .production) async -> Bool
        {
            let scope = AppScope(bundleId: scope.bundleId, environment: environment)
            return await known.revocations.revocations(of: [purchase], in: scope, within: .seconds(5)).isComplete
        }
        #expect(await !isComplete(.transaction("10")))
        #expect(await !isComplete(.lineItem("w10")))
        #expect(await isComplete(.transaction("11")))
        #expect(await isComplete(.transaction("w10")))
        #expect(await isComplete(.lineItem("10")))
        #expect(await isComplete(.transaction("10"), .sandbox))
        let unloaded = try start(store)
        let (index, isComplete) = await unloaded.revocations.revocations(
            of: [.transaction("11")], in: scope, within: .seconds(5))
        #expect(index.isEmpty && !isComplete)
    }

    @Test("A refund that another server stored is known after its change is applied")
    func cluster() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        let known = try start(store)
        await known.whenLoaded()
        let row = RevocationRow(
            "10", lineItem: "w10", at: SharedSimulator.noon.milliseconds, reason: 0,
            signed: SharedSimulator.noon.milliseconds)
        try await store.save(revoked: [row], valid: [], askedAt: .now, of: scope)
        #expect(await shown(in: known) == [false, false])
        let change = StoredChange(.event, of: ["10"], transactions: ["10", "11"], in: scope)
        try await known.apply([change], from: store)
        #expect(await shown(in: known) == [true, true])
        // A reversal needs no change in memory.
        try await store.save(
            revoked: [], valid: ["10"], askedAt: SharedSimulator.noon.advanced(by: .minutes(5)), of: scope)
        #expect(await shown(in: known) == [false, false])
    }
}
