import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

@Suite("Presenters of purchases, and lookups of revocations and identifiers")
struct LookupStoreTests {
    private static let now = Timestamp(milliseconds: 1_700_000_000_000)
    private static let (first, second) = ([UInt8](repeating: 1, count: 8), [UInt8](repeating: 0, count: 8))

    private static func ids(_ texts: String...) throws -> [TransactionIdentifier] {
        try texts.map { try #require(TransactionIdentifier(rawValue: $0)) }
    }

    @Test("The first presenter stays, for another process too", arguments: engines)
    func presenters(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let other = try await stage.second()
        let ids = try Self.ids("1", "2", "3")
        func claim(
            _ ids: [TransactionIdentifier], _ presenter: [UInt8]?, _ store: any Store, _ scope: AppScope? = nil
        ) async throws -> [TransactionIdentifier: [UInt8]] {
            try await store.presenters.presenters(
                of: ids, in: scope ?? stage.scope, claimingFor: presenter, at: Self.now)
        }
        #expect(try await claim([], Self.first, stage.store) == [:])
        // Without a presenter nothing is assigned.
        for _ in 0..<2 { #expect(try await claim(ids, nil, stage.store) == [:]) }
        let two = [ids[0]: Self.first, ids[1]: Self.first]
        #expect(try await claim([ids[0], ids[1], ids[0]], Self.first, stage.store) == two)
        // Another user presents one of them, so the new purchase is not assigned.
        #expect(try await claim([ids[1], ids[2]], Self.second, other) == [ids[1]: Self.first])
        #expect(try await claim([ids[2]], Self.second, other) == [ids[2]: Self.second])
        #expect(try await claim(ids, Self.first, stage.store) == two.merging([ids[2]: Self.second]) { $1 })
        #expect(try await claim(ids, nil, other).count == 3)
        let sandbox = stage.scope.sandbox
        #expect(try await claim([ids[0]], Self.second, other, sandbox) == [ids[0]: Self.second])
        // Retention deletes them with the customers.
        var retention = Retention()
        retention.customers = 1
        let later = Self.now.advanced(by: .days(2))
        let deleted = try await other.personalData.expire(retention, at: later) { _ in true }
        #expect(deleted == [Erasure.Kind(name: "presenters", count: 4)])
        #expect(try await claim([ids[0]], Self.second, other) == [ids[0]: Self.second])
    }

    @Test("U+0000 in a signed text is stored as U+FFFD", arguments: engines)
    func zeros(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let row = NotificationRow("abc\0def", "T\0", "\0S", at: Self.now.milliseconds)
        let transaction = TransactionRow(
            transactionId: "1\0", originalTransactionId: "2\0", appTransactionId: "\03", isSubscription: true,
            signedDate: Self.now,
            revocation: RevocationRow("1\0", lineItem: "\04", at: Self.now.milliseconds, reason: 0),
            text: "text")
        var update = NotificationUpdate(transaction: transaction)
        update.renewal = RenewalRow("2\0", at: Self.now.milliseconds, "text")
        update.status = StatusRow("2\0", group: "g\0", at: Self.now.milliseconds)
        for outcome in [NotificationOutcome.stored(isNew: true), .repeated] {
            #expect(try await stage.receive(row, update) == outcome)
        }
        let stored = try await stage.store.notifications.notification("abc\u{FFFD}def")?.summary
        #expect(stored?.type == "T\u{FFFD}" && stored?.subtype == "\u{FFFD}S")
        #expect(stored?.originalTransactionId == "2\u{FFFD}")
        let revocations = try await stage.store.revocations.revoked(in: stage.scope)
        #expect(revocations.map(\.webOrderLineItemId) == ["\u{FFFD}4"])
    }

    @Test("One purchase that many users present at once has one presenter", arguments: engines)
    func presentersAtOnce(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let other = try await stage.second()
        let (stores, scope) = ([stage.store, other], stage.scope)
        let ids = try Self.ids("1", "2")
        let seen = try await withThrowingTaskGroup(of: [TransactionIdentifier: [UInt8]].self) { group in
            for user in 0..<16 as Range<UInt8> {
                group.addTask {
                    try await stores[Int(user) % 2].presenters.presenters(
                        of: user % 4 < 2 ? ids : ids.reversed(), in: scope, claimingFor: [user], at: Self.now)
                }
            }
            return try await group.reduce(into: Set<[TransactionIdentifier: [UInt8]]>()) { $0.insert($1) }
        }
        #expect(seen.count == 1)
        #expect(Set(seen.flatMap(\.values)).count == 1)
    }

    @Test("Revocations are found by transaction and by line item", arguments: engines)
    func revocations(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let rows = ["1", "2", "3"].map {
            RevocationRow(
                transactionId: $0, webOrderLineItemId: "w\($0)", date: Self.now, reason: $0 == "1" ? 1 : nil,
                signedDate: $0 == "2" ? Self.now : nil)
        }
        try await stage.store.revocations.save(revoked: rows, valid: [], askedAt: .now, of: stage.scope)
        func found(
            _ ids: [String], _ lineItems: [String], _ environment: AppStoreEnvironment = .production
        ) async throws -> Set<RevocationRow> {
            let scope = AppScope(bundleId: stage.scope.bundleId, environment: environment)
            return Set(try await stage.store.revocations.revocations(of: ids, lineItems: lineItems, in: scope))
        }
        #expect(try await found(["2", "9", "1"], []) == [rows[0], rows[1]])
        #expect(try await found(["2"], ["w2", "w3", "1"]) == [rows[1], rows[2]])
        #expect(try await found([], []) == [])
        #expect(try await found(["1"], ["w1"], .sandbox) == [])
        // In pages of two.
        var pages: [[String]] = []
        var position: RevokedPurchases.Position? = .start
        while let start = position {
            let page = try await stage.store.revocations.revokedPurchases(after: start, limit: 2)
            #expect(page.rows.allSatisfy { $0.scope == stage.scope })
            pages.append(page.rows.map { "\($0.row.transactionId) \($0.row.webOrderLineItemId ?? "-")" })
            position = page.next
        }
        #expect(pages == [["1 w1", "2 w2"], ["3 w3"]])
    }

    @Test("Identifiers are found by the digest of the receipt", arguments: engines)
    func identifiers(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let keys = CustomerIdentifiers(["11", "12"], ["13"])
        try await stage.store.revocations.saveIdentifiers(keys, of: [1, 0, 2], at: Self.now)
        #expect(try await stage.store.revocations.customerIdentifiers(of: [1, 0, 2]) == keys)
        #expect(try await stage.store.revocations.customerIdentifiers(of: [1, 0]) == nil)
    }
}
