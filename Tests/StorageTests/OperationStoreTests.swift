import Base
import Storage
import StorageTestSupport
import Testing
import TestSupport

@Suite("Refunds and extensions in the store")
struct OperationStoreTests {
    private static let begin = Timestamp(milliseconds: 5_000)

    private func transaction(_ id: String, _ original: String, at date: Int64, refunded: Int64? = nil) -> TransactionRow
    {
        TransactionRow(
            transactionId: id, originalTransactionId: original, appTransactionId: "d\(original)", isSubscription: true,
            signedDate: Timestamp(milliseconds: date),
            revocation: refunded.map {
                RevocationRow(
                    transactionId: id, webOrderLineItemId: nil, date: Timestamp(milliseconds: $0), reason: 0)
            }, text: "\(id)@\(date)")
    }

    private func save(_ id: String, _ originals: [String], on stage: StoreStage) async throws {
        try await stage.store.customers.save(
            CustomerRow(
                askedAt: Timestamp(milliseconds: 1), signedDate: Timestamp(milliseconds: 1_000), appAppleId: 7,
                revision: "r", transactions: originals.map { transaction($0, $0, at: 1_000) }, statuses: [],
                renewals: [], aliases: []), of: stage.scope)
    }

    private func targets(on stage: StoreStage) async throws -> [String] {
        try await page(on: stage).map(\.identifier.rawValue)
    }

    /// Returns the targets of the first page, which is the only one of a small store.
    private func page(on stage: StoreStage, since start: Timestamp = Self.begin) async throws -> [RefundTarget] {
        let page = try await stage.store.refunds.refundTargets(notSweptSince: start, after: 0)
        #expect(page.next == nil)
        #expect(try await stage.store.refunds.countRefundTargets(notSweptSince: start) == page.targets.count)
        return page.targets
    }

    @Test("The pages of targets contain every customer once", arguments: StoreTestEngine.available)
    func pages(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        let count = RefundTargetPage.size / 2 + 100
        for number in 1...count { try await save("r", ["\(number)1", "\(number)2"], on: stage) }
        let first = try await stage.store.refunds.refundTargets(notSweptSince: Self.begin, after: 0)
        let second = try await stage.store.refunds.refundTargets(
            notSweptSince: Self.begin, after: try #require(first.next))
        #expect(first.targets.count == RefundTargetPage.size / 2 && second.next == nil)
        #expect((first.targets + second.targets).map(\.identifier.rawValue) == (1...count).map { "\($0)1" })
        #expect(try await stage.store.refunds.countRefundTargets(notSweptSince: Self.begin) == count)
    }

    @Test(
        "Every customer is a target once, and after being swept only in the next sweep, with the revision",
        arguments: StoreTestEngine.available)
    func targets(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await save("a", ["11", "12"], on: stage)
        try await save("b", ["21"], on: stage)
        #expect(try await targets(on: stage) == ["11", "21"])
        let first = try #require(try await page(on: stage).first)
        try await stage.store.refunds.save([], of: first, revision: "r7", at: Timestamp(milliseconds: 5_001))
        #expect(try await targets(on: stage) == ["21"])
        let next = try await page(on: stage, since: Timestamp(milliseconds: 6_000))
        #expect(next.map(\.revision) == ["r7", nil])
        let id = try #require(TransactionIdentifier(rawValue: "11"))
        #expect(try await stage.store.refunds.refundTarget(id, in: stage.scope, notSweptSince: Self.begin) == nil)
        let later = try await stage.store.refunds.refundTarget(
            id, in: stage.scope, notSweptSince: Timestamp(milliseconds: 6_000))
        #expect(later?.revision == "r7")
    }

    @Test(
        "A refund takes effect at once, marks its customer for a lookup, and is reported once",
        arguments: StoreTestEngine.available)
    func refund(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await save("a", ["11", "12"], on: stage)
        let target = try #require(try await page(on: stage).first)
        let row = RefundRow(
            transaction: transaction("12", "12", at: 2_000, refunded: 1_500), date: Timestamp(milliseconds: 1_500))
        for _ in 0..<2 { try await stage.store.refunds.save([row], of: target, revision: "r8", at: Self.begin) }
        #expect(try await stage.store.revocations.revoked(in: stage.scope).map(\.transactionId) == ["12"])
        let keys = CustomerIdentifiers(originalTransactionIds: ["11"], transactionIds: [])
        #expect(try await stage.store.customers.customer(of: keys, in: stage.scope)?.needsLookup == true)
        let unreported = try await stage.store.refunds.unreportedRefunds(limit: 9)
        #expect(unreported.map(\.text) == ["12@2000"])
        try await stage.store.refunds.markReported(unreported, in: ("refunds.jsonl", 100))
        #expect(try await stage.store.refunds.unreportedRefunds(limit: 9).isEmpty)
        #expect(try await stage.store.refunds.sizeOfRefundOutput("refunds.jsonl") == 100)
        #expect(try await stage.store.refunds.sizeOfRefundOutput("other.jsonl") == nil)
        // The refund was reversed and then repeated, which is a new refund.
        let again = RefundRow(
            transaction: transaction("12", "12", at: 3_000, refunded: 2_500), date: Timestamp(milliseconds: 2_500))
        try await stage.store.refunds.save([again], of: target, revision: "r9", at: Self.begin)
        #expect(try await stage.store.refunds.unreportedRefunds(limit: 9).map(\.text) == ["12@3000"])
    }

    @Test("A refund that is already known does not mark its customer as stale", arguments: StoreTestEngine.available)
    func known(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await stage.store.customers.save(
            CustomerRow(
                askedAt: Timestamp(milliseconds: 1), signedDate: Timestamp(milliseconds: 2_000), appAppleId: 7,
                revision: "r", transactions: [transaction("11", "11", at: 2_000, refunded: 1_500)], statuses: [],
                renewals: [], aliases: []), of: stage.scope)
        let target = try #require(try await page(on: stage).first)
        let row = RefundRow(
            transaction: transaction("11", "11", at: 3_000, refunded: 1_500), date: Timestamp(milliseconds: 1_500))
        try await stage.store.refunds.save([row], of: target, revision: "r8", at: Self.begin)
        let keys = CustomerIdentifiers(originalTransactionIds: ["11"], transactionIds: [])
        #expect(try await stage.store.customers.customer(of: keys, in: stage.scope)?.needsLookup == false)
        #expect(try await stage.store.refunds.unreportedRefunds(limit: 9).count == 1)
    }

    @Test("A refund that a history contains twice counts once", arguments: StoreTestEngine.available)
    func repeated(on engine: StoreTestEngine) async throws {
        let stage = try await StoreStage(engine)
        try await save("a", ["11"], on: stage)
        let target = try #require(try await page(on: stage).first)
        // Signed again, with the same content.
        let rows = [Int64(2_000), 3_000].map { date in
            RefundRow(
                transaction: CustomerDataFixture.transaction("12", "12", at: date, isRefunded: true),
                date: Timestamp(milliseconds: 1_500))
        }
        let unknown = try await stage.store.refunds.save(
            rows, of: target, revision: "r8", at: Self.begin, source: .refundSweep, reportingTo: [])
        #expect(unknown == 1)
    }
}
