import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

@Suite("Customers in the store")
struct CustomerStoreTests {
    /// A lookup with a status and a renewal for each subscription.
    private func customer(_ rows: [TransactionRow], at date: Int64 = 1_000, aliases: [String] = []) -> CustomerRow {
        let originals = Set(rows.map(\.originalTransactionId)).sorted()
        return CustomerRow(
            rows, at: date, statuses: originals.map { StatusRow($0, group: "g", at: date) },
            renewals: originals.map { RenewalRow($0, at: date) }, aliases: aliases)
    }

    @Test(
        "At most the newest eight receipts without a purchase are stored of one customer, without affecting other customers",
        arguments: engines)
    func learntIdentifiers(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        func saveReceipt(_ id: String, _ receipt: UInt8, at date: Int64) async throws {
            try await stage.store.revocations.saveIdentifiers(
                CustomerIdentifiers([id]), of: [receipt],
                at: Timestamp(milliseconds: date))
        }
        try await saveReceipt("10", 200, at: 1)
        for index in 0..<30 as Range<UInt8> { try await saveReceipt("20", index, at: 100 - Int64(index)) }
        #expect(
            try await stage.store.revocations.customerIdentifiersByReceipt(limit: 100).map {
                "\($0.keys.originalTransactionIds[0]) \($0.receipt[0])"
            } == ["10 200", "20 29", "20 6", "20 5", "20 4", "20 3", "20 2", "20 1", "20 0"])
    }

    @Test(
        "A purchase has a newer record only in its app, and only if one was signed after the time",
        arguments: engines)
    func newerRecords(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let customers = stage.store.customers
        try await customers.save(customer([TransactionRow("10"), TransactionRow("11", "10")]), of: stage.scope)
        let sandbox = stage.scope.sandbox
        for (originals, scope, since, expected) in [
            (["7", "10"], stage.scope, 999, true), (["10"], stage.scope, 1_000, false), (["10"], sandbox, 0, false),
            (["11"], stage.scope, 0, false), ([], stage.scope, 0, false),
        ] as [([String], AppScope, Int64, Bool)] {
            let isNewer = try await customers.hasNewerRecord(
                of: originals, in: scope, since: Timestamp(milliseconds: since))
            #expect(isNewer == expected, "\(originals) \(scope) \(since)")
        }
    }

    @Test(
        "A customer is found by any id of the history, but only after a lookup of the complete history",
        arguments: engines)
    func whole(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let outcome = try await stage.receive(
            NotificationRow("1", at: 500), NotificationUpdate(transaction: TransactionRow("11", "10", at: 500)))
        #expect(outcome == .stored(isNew: true))
        #expect(try await stage.find(["10"]) == nil)
        try await stage.save(customer([TransactionRow("10"), TransactionRow("11", "10")], aliases: ["99"]))
        for keys in [(["10"], []), ([], ["11"]), (["10"], ["10", "11"]), (["10"], ["99"])] as [([String], [String])] {
            #expect(try await stage.find(keys.0, keys.1)?.transactions == ["10@1000", "11@1000"])
        }
        #expect(try await stage.find([], ["99"]) == nil)
        #expect(try await stage.find(["10"], ["98"]) == nil)
        let sandbox = stage.scope.sandbox
        #expect(try await stage.store.customers.customer(of: CustomerIdentifiers(["10"]), in: sandbox) == nil)
    }

    @Test("A receipt with the ids of two customers finds neither", arguments: engines)
    func two(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await stage.save(customer([TransactionRow("10")]))
        try await stage.save(customer([TransactionRow("20")]))
        #expect(try await stage.find(["10", "20"]) == nil)
        #expect(try await stage.find(["10"])?.transactions == ["10@1000"])
        // A history with both ids merges them.
        try await stage.save(customer([TransactionRow("10", at: 2_000), TransactionRow("20", at: 2_000)], at: 2_000))
        #expect(try await stage.find(["20"], ["10"])?.transactions == ["10@2000", "20@2000"])
    }

    @Test(
        "The most recently signed record is stored, whatever its source; a record with the same date changes nothing",
        arguments: engines)
    func clocks(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await stage.save(customer([TransactionRow("10")]))
        for (uuid, date, isNew) in [("a", 1_500, true), ("b", 1_200, false), ("c", 1_500, false)]
            as [(String, Int64, Bool)]
        {
            let update = NotificationUpdate(
                transaction: TransactionRow("10", at: date, text: uuid),
                renewal: RenewalRow("10", at: date, "renewal \(uuid)"),
                status: StatusRow("10", date == 1_500 ? 4 : 2, at: date))
            #expect(try await stage.receive(NotificationRow(uuid, at: date), update) == .stored(isNew: isNew))
        }
        // A lookup whose response was signed before the notification.
        try await stage.save(customer([TransactionRow("10", at: 1_400)], at: 1_400))
        let stored = try #require(try await stage.find(["10"]))
        #expect(stored.transactions == ["a"])
        #expect(stored.subscriptions.map(\.renewal) == ["renewal a"] && stored.subscriptions.map(\.status) == [4])
        #expect(stored.subscriptions.map(\.subscriptionGroupIdentifier) == ["g"] && stored.appAppleId == 7)
        try await stage.save(customer([TransactionRow("10", at: 1_600)], at: 1_600))
        #expect(try await stage.find(["10"])?.transactions == ["10@1600"])
        #expect(try await stage.find(["10"])?.subscriptions.map(\.status) == [1])
    }

    @Test("The apps that know an id are found by each of its forms, and those that share one", arguments: engines)
    func apps(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let (customers, first) = (stage.store.customers, stage.scope)
        let second = try AppScope.of("com.example.second", .sandbox)
        try await customers.save(customer([TransactionRow("11", "10", download: "9")]), of: first)
        try await customers.save(customer([TransactionRow("21", "20")]), of: second)
        func found(_ id: String, _ environment: AppStoreEnvironment? = nil) async throws -> [String] {
            let id = try #require(TransactionIdentifier(rawValue: id))
            return try await customers.apps(with: id, in: environment).map(\.rawValue).sorted()
        }
        for id in ["9", "10", "11"] { #expect(try await found(id) == ["com.example.app"]) }
        #expect(try await found("20") == ["com.example.second"])
        #expect(try await found("20", .production).isEmpty)
        #expect(try await found("12").isEmpty)
        #expect(try await customers.appsWithSharedIdentifiers().isEmpty)
        #expect(try await customers.newestIdentifiers(limit: 1).map(\.identifier.rawValue) == ["21"])
        try await customers.save(customer([TransactionRow("11")]), of: second)
        #expect(try await found("11") == ["com.example.app", "com.example.second"])
        #expect(
            try await customers.appsWithSharedIdentifiers().map(\.rawValue) == [
                "com.example.app", "com.example.second",
            ])
    }

    @Test("A stale customer stays stale until a lookup that was signed later", arguments: engines)
    func needsLookup(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await stage.save(customer([TransactionRow("10", download: "d")]))
        #expect(try await stage.find(["10"])?.needsLookup == false)
        let update = NotificationUpdate(transaction: TransactionRow("11", "10", at: 1_500), needsLookup: true)
        try await stage.receive(NotificationRow("a", at: 1_500), update)
        #expect(try await stage.find(["10"])?.needsLookup == true)
        try await stage.save(customer([TransactionRow("10", at: 1_400)], at: 1_400))
        #expect(try await stage.find(["10"])?.needsLookup == true)
        #expect(try await stage.find(["10"], ["11"])?.transactions.count == 2)
        try await stage.save(customer([TransactionRow("10", at: 1_600, download: "d")], at: 1_600))
        #expect(try await stage.find(["10"])?.needsLookup == false)
        // The history no longer contains it.
        #expect(try await stage.find(["10"])?.transactions == ["10@1600"])
        // It belongs to the customer by its app transaction id, but its position among the subscriptions is unknown.
        let other = NotificationUpdate(transaction: TransactionRow("30", at: 1_700, download: "d"))
        try await stage.receive(NotificationRow("b", at: 1_700), other)
        #expect(try await stage.find(["30"])?.transactions == ["10@1600", "30@1700"])
        #expect(try await stage.find(["10"])?.needsLookup == true)
    }

    @Test(
        "What was reported during the lookup of a new customer belongs to that customer, who needs another lookup",
        arguments: engines)
    func reportedMeanwhile(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        for (id, original, date, download) in [
            ("60", "60", 1_500, "d"), ("11", "10", 1_600, nil), ("61", "61", 900, "d"), ("62", "62", 1_500, "e"),
        ] as [(String, String, Int64, String?)] {
            try await stage.receive(
                NotificationRow(id, at: date),
                NotificationUpdate(transaction: TransactionRow(id, original, at: date, download: download)))
        }
        try await stage.save(customer([TransactionRow("10", download: "d")]))
        let stored = try #require(try await stage.find(["10", "60"], ["11"]))
        // By the download of the app and by the purchase. What is older than the history would be in it.
        #expect(Set(stored.transactions) == ["10@1000", "11@1600", "60@1500"] && stored.needsLookup)
        try await stage.save(
            customer(
                [
                    TransactionRow("10", at: 2_000, download: "d"), TransactionRow("11", "10", at: 2_000),
                    TransactionRow("60", at: 2_000, download: "d"),
                ], at: 2_000))
        #expect(try await stage.find(["10", "60"])?.needsLookup == false)
    }

    @Test("A history that contradicts its statuses needs another lookup", arguments: engines)
    func contradiction(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        var row = customer([TransactionRow("10")])
        row.contradictsItself = true
        try await stage.save(row)
        #expect(try await stage.find(["10"])?.needsLookup == true)
        try await stage.save(customer([TransactionRow("10", at: 2_000)], at: 2_000))
        #expect(try await stage.find(["10"])?.needsLookup == false)
    }

    @Test("An unsigned answer does not undo what was said later", arguments: engines)
    func unsignedAnswers(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let revocations = stage.store.revocations
        func asked(_ seconds: Int64, revoked: Bool) async throws -> [String] {
            let time = Timestamp(seconds: seconds)
            let row = RevocationRow(
                transactionId: "10", webOrderLineItemId: nil, date: Timestamp(seconds: 1), reason: nil, askedAt: time)
            try await revocations.save(
                revoked: revoked ? [row] : [], valid: revoked ? [] : ["10"], askedAt: time, of: stage.scope)
            return try await revocations.revoked(in: stage.scope).map(\.transactionId)
        }
        #expect(try await asked(1_000, revoked: true) == ["10"])
        #expect(try await asked(999, revoked: false) == ["10"], "the answer to an earlier request arrives later")
        #expect(try await asked(1_001, revoked: false) == [])
        #expect(try await asked(1_000, revoked: true) == ["10"], "nothing is known of a purchase that is not revoked")
        // A signed refund, and a signed notification from before the answer.
        try await stage.save(customer([TransactionRow("10", at: 2_000_000, revoked: 2_000_000)], at: 2_000_000))
        #expect(try await asked(2_299, revoked: false) == ["10"], "asked before the refund, or a moment later")
        #expect(try await asked(2_300, revoked: false) == [])
        #expect(try await asked(3_400, revoked: true) == ["10"])
        let late = NotificationUpdate(transaction: TransactionRow("10", at: 3_000_001))
        try await stage.receive(NotificationRow("b", at: 3_000_001), late)
        #expect(try await asked(1, revoked: false) == ["10"], "a notification that was signed before the answer")
    }

    @Test(
        "A migrated subscription belongs to the customer of the one before it, who needs a lookup",
        arguments: engines)
    func migration(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await stage.save(customer([TransactionRow("10")]))
        try await stage.save(customer([TransactionRow("20", download: "d")]))
        let update = NotificationUpdate(transaction: TransactionRow("11", at: 1_500, from: "10"))
        try await stage.receive(NotificationRow("a", at: 1_500), update)
        #expect(try await stage.find(["11"])?.transactions == ["10@1000", "11@1500"])
        #expect(try await stage.find(["10"])?.needsLookup == true)
        // The app transaction id says more than the earlier subscription.
        let other = NotificationUpdate(transaction: TransactionRow("12", at: 1_600, download: "d", from: "10"))
        try await stage.receive(NotificationRow("b", at: 1_600), other)
        #expect(try await stage.find(["12"])?.transactions == ["20@1000", "12@1600"])
        // The earlier subscription is unknown.
        let unknown = NotificationUpdate(transaction: TransactionRow("13", at: 1_700, from: "99"))
        try await stage.receive(NotificationRow("c", at: 1_700), unknown)
        #expect(try await stage.find(["13"]) == nil)
    }

    @Test("A reversed revocation marks its customer as stale and deletes nothing", arguments: engines)
    func reversedRevocation(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await stage.save(customer([TransactionRow("10", revoked: 1_000), TransactionRow("20")], aliases: ["99"]))
        try await stage.store.revocations.save(revoked: [], valid: ["10"], askedAt: .now, of: stage.scope)
        let stored = try #require(try await stage.find(["10", "20"], ["99"]))
        #expect(stored.needsLookup && stored.transactions.count == 2)
        try await stage.save(customer([TransactionRow("10", at: 2_000), TransactionRow("20", at: 2_000)], at: 2_000))
        #expect(try await stage.find(["10", "20"], ["99"])?.needsLookup == false)
    }

    @Test("A merged customer is stale if one of the two was, and keeps the aliases of both", arguments: engines)
    func needsOfTwo(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await stage.save(customer([TransactionRow("10")]))
        try await stage.save(customer([TransactionRow("20")], aliases: ["99"]))
        let update = NotificationUpdate(transaction: TransactionRow("21", "20", at: 1_500), needsLookup: true)
        try await stage.receive(NotificationRow("a", at: 1_500), update)
        // Signed before the notification.
        try await stage.save(customer([TransactionRow("10", at: 1_400), TransactionRow("20", at: 1_400)], at: 1_400))
        let stored = try #require(try await stage.find(["10", "20"], ["99"]))
        #expect(stored.needsLookup)
        try await stage.save(customer([TransactionRow("10", at: 1_600), TransactionRow("20", at: 1_600)], at: 1_600))
        #expect(try await stage.find(["10", "20"])?.needsLookup == false)
    }

    @Test("Revocations are kept across a restart, and deleted once reversed", arguments: engines)
    func revocations(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await stage.save(
            customer([TransactionRow("10", revoked: 1_000), TransactionRow("11", "10", revoked: 1_000)]))
        try await stage.receive(
            NotificationRow("a", at: 1_500), NotificationUpdate(transaction: TransactionRow("11", "10", at: 1_500)))
        // A notification that arrives late does not restore it.
        try await stage.receive(
            NotificationRow("b", at: 1_400),
            NotificationUpdate(transaction: TransactionRow("11", "10", at: 1_400, revoked: 1_400)))
        let revocation = RevocationRow("77", lineItem: "78", at: 5)
        try await stage.store.revocations.save(revoked: [revocation], valid: ["76"], askedAt: .now, of: stage.scope)
        #expect(try await stage.find(["10"])?.revokedTransactionIds == ["10"])
        let again = try await stage.reopened()
        #expect(try await again.revocations.revoked(in: stage.scope).map(\.transactionId) == ["10", "77"])
    }
}
