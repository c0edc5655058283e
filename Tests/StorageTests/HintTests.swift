import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing

@Suite("Version 1 notifications")
struct HintTests {
    private static let day: Int64 = 86_400_000

    private func identifiers(_ texts: String...) throws -> [TransactionIdentifier] {
        try texts.map { try #require(TransactionIdentifier(rawValue: $0)) }
    }

    private func save(_ name: String, at time: Int64, on stage: StoreStage, in other: AppScope? = nil) async throws {
        let row = NotificationRow(
            hint: name, type: "CANCEL", naming: try identifiers("1"), receivedAt: Timestamp(milliseconds: time))
        _ = try await stage.store.notifications.save(hint: row, about: [], of: other ?? stage.scope)
    }

    // T29
    @Test(
        "Only the newest version 1 notifications of one day, app and environment are kept, up to the limit; version 2 is not counted",
        arguments: engines)
    func budget(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine, hintsPerDay: 3)
        let sandbox = stage.scope.sandbox
        for index in 0..<3 {
            try await stage.receive(NotificationRow("signed \(index)", at: 5, signed: .some(nil)))
        }
        try await save("yesterday", at: Self.day - 1, on: stage)
        for index in 0..<5 { try await save("today \(index)", at: Self.day + Int64(index), on: stage) }
        try await save("sandbox", at: Self.day, on: stage, in: sandbox)
        let kept = ["signed 0", "signed 1", "signed 2", "yesterday", "today 2", "today 3", "today 4", "sandbox"]
        for uuid in kept {
            #expect(try await stage.store.notifications.holdsNotification(uuid), "\(uuid)")
        }
        #expect(try await stage.store.notifications.notificationCount() == kept.count)
    }

    @Test("A row contains each id once and at most sixteen")
    func contents() throws {
        let many = try (1...20).map { try #require(TransactionIdentifier(rawValue: "\(700 + $0)")) }
        let row = NotificationRow(
            hint: "sha256:0", type: "CANCEL", naming: try identifiers("5", "7", "5") + many,
            receivedAt: Timestamp(milliseconds: 1))
        #expect(row.text == "5 7 701 702 703 704 705 706 707 708 709 710 711 712 713 714")
    }

    @Test("A version 1 notification is erased by any of its ids", arguments: engines)
    func erasure(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let row = NotificationRow(
            hint: "sha256:0", type: "CANCEL", naming: try identifiers("5", "7", "707"),
            receivedAt: Timestamp(milliseconds: 1))
        _ = try await stage.store.notifications.save(hint: row, about: try identifiers("5"), of: stage.scope)
        try await save("another", at: 2, on: stage)
        let erasure = try await stage.store.personalData.erase(
            ErasureRequest(.transaction(try identifiers("707")[0])), at: Timestamp(milliseconds: 9))
        #expect(erasure.kinds == [Erasure.Kind(name: "notifications", count: 1)])
        #expect(try await stage.store.notifications.holdsNotification("another"))
        #expect(try await stage.store.notifications.notificationCount() == 1)
    }

    @Test("A version 1 notification marks the customers with its ids for a lookup, once", arguments: engines)
    func staleness(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        func lookUp(at time: Int64) async throws {
            let row = CustomerRow([CustomerDataFixture.transaction("82", "81", at: time)], at: time)
            try await stage.save(row)
        }
        try await lookUp(at: 1)
        let row = NotificationRow(
            hint: "h", type: "CANCEL", naming: try identifiers("82"), receivedAt: Timestamp(milliseconds: 2))
        #expect(try await stage.find(["81"])?.needsLookup == false)
        let outcome = try await stage.store.notifications.save(hint: row, about: try identifiers("82"), of: stage.scope)
        #expect(outcome == .stored(isNew: false))
        #expect(try await stage.find(["81"])?.needsLookup == true)
        try await lookUp(at: 3)
        let again = NotificationRow(
            hint: "h", type: "CANCEL", naming: try identifiers("82"), receivedAt: Timestamp(milliseconds: 4))
        #expect(
            try await stage.store.notifications.save(hint: again, about: try identifiers("82"), of: stage.scope)
                == .repeated)
        #expect(try await stage.find(["81"])?.needsLookup == false)
    }
}
