import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing
import ReceiptBridgeTestSupport

@Suite("Refunds in the store")
struct OperationStoreTests {
    private static let begin = Timestamp(milliseconds: 5_000)

    private func save(_ originals: [String], on stage: StoreStage) async throws {
        try await stage.save(CustomerRow(originals.map { TransactionRow($0, download: "d\($0)") }))
    }

    /// Returns the targets of the first page, which is the only one of a small store.
    private func targets(on stage: StoreStage, after position: Int64 = 0) async throws -> [RefundTarget] {
        let page = try await stage.store.refunds.refundTargets(after: position)
        #expect(page.next == nil)
        #expect(try await stage.store.refunds.countRefundTargets(after: position) == page.targets.count)
        return page.targets
    }

    @Test("The pages of targets contain every customer once", arguments: engines)
    func pages(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let count = RefundTargetPage.size / 2 + 100
        for number in 1...count { try await save(["\(number)1", "\(number)2"], on: stage) }
        let first = try await stage.store.refunds.refundTargets(after: 0)
        let second = try await stage.store.refunds.refundTargets(after: try #require(first.next))
        #expect(first.targets.count == RefundTargetPage.size / 2 && second.next == nil)
        #expect((first.targets + second.targets).map(\.identifier.rawValue) == (1...count).map { "\($0)1" })
        #expect(try await stage.store.refunds.countRefundTargets(after: 0) == count)
        let last = try #require(second.targets.last)
        let single = try await stage.store.refunds.refundTargets(after: last.position - 1, size: 1)
        #expect(single.targets == [last])
        #expect(try await targets(on: stage, after: last.position - 1) == [last])
    }

    /// The events of type `refund`, each as the texts of the transactions in it.
    private func refunds(on stage: StoreStage) async throws -> [String] {
        try await stage.store.events.events(after: 0, upTo: .max, of: .refund, limit: 9).map(\.customer)
    }

    @Test("A refund takes effect at once, marks its customer for a lookup, and gives one event", arguments: engines)
    func refund(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await save(["11", "12"], on: stage)
        // A history signs every refund again.
        for date in [Int64(2_000), 3_000, 2_500] {
            let row = RefundRow(
                transaction: TransactionRow("12", at: date, download: "d12", revoked: 1_500),
                date: Timestamp(milliseconds: 1_500))
            try await stage.store.refunds.save([row], in: stage.scope, at: Self.begin)
        }
        #expect(try await stage.store.revocations.revoked(in: stage.scope).map(\.transactionId) == ["12"])
        #expect(try await stage.find(["11"])?.needsLookup == true)
        #expect(try await refunds(on: stage) == ["11"])
        // The refund was reversed and then repeated, which is a new refund.
        let again = RefundRow(
            transaction: TransactionRow("12", at: 4_000, download: "d12", revoked: 2_500),
            date: Timestamp(milliseconds: 2_500))
        try await stage.store.refunds.save([again], in: stage.scope, at: Self.begin)
        #expect(try await refunds(on: stage) == ["11", "11"])
        let stored = try await stage.store.refunds.reportedRefunds(of: ["11", "12"], in: stage.scope)
        #expect(stored.mapValues(\.text) == ["12": "12@4000"] && stored["12"]?.isReported == true)
    }
}
