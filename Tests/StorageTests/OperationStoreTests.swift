import Storage
import AppStoreTypes
import TestSupport
import Testing

@Suite("Refunds and extensions in the store")
struct OperationStoreTests {
    private let folder: TemporaryFolder
    private let store: Store
    private let scope: AppScope
    private static let begin = Timestamp(milliseconds: 5_000)

    init() throws {
        folder = try TemporaryFolder()
        store = try Store(path: folder.path("bridge.sqlite"))
        let bundleId = try #require(BundleIdentifier(rawValue: "com.example.app"))
        scope = AppScope(bundleId: bundleId, environment: .production)
    }

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

    private func save(_ id: String, _ originals: [String]) async throws {
        try await store.save(
            CustomerRow(
                askedAt: Timestamp(milliseconds: 1), signedDate: Timestamp(milliseconds: 1_000), appAppleId: 7,
                revision: "r", transactions: originals.map { transaction($0, $0, at: 1_000) }, statuses: [],
                renewals: [], aliases: []), of: scope)
    }

    private func targets(_ begin: Timestamp = begin) async throws -> [String] {
        try await store.refundTargets(notSweptSince: begin).map(\.identifier.rawValue)
    }

    @Test("Every customer is a target once, and after being swept only in the next sweep, with the revision")
    func targets() async throws {
        try await save("a", ["11", "12"])
        try await save("b", ["21"])
        #expect(try await targets() == ["11", "21"])
        let first = try #require(try await store.refundTargets(notSweptSince: Self.begin).first)
        try await store.save([], of: first, revision: "r7", at: Timestamp(milliseconds: 5_001))
        #expect(try await targets() == ["21"])
        let next = try await store.refundTargets(notSweptSince: Timestamp(milliseconds: 6_000))
        #expect(next.map(\.revision) == ["r7", nil])
        let id = try #require(TransactionIdentifier(rawValue: "11"))
        #expect(try await store.refundTarget(id, in: scope, notSweptSince: Self.begin) == nil)
        let later = try await store.refundTarget(id, in: scope, notSweptSince: Timestamp(milliseconds: 6_000))
        #expect(later?.revision == "r7")
    }

    @Test("A refund takes effect at once, marks its customer for a lookup, and is reported once")
    func refund() async throws {
        try await save("a", ["11", "12"])
        let target = try #require(try await store.refundTargets(notSweptSince: Self.begin).first)
        let row = RefundRow(
            transaction: transaction("12", "12", at: 2_000, refunded: 1_500), date: Timestamp(milliseconds: 1_500))
        for _ in 0..<2 { try await store.save([row], of: target, revision: "r8", at: Self.begin) }
        #expect(try store.revocations(limit: 9)[scope]?.map(\.transactionId) == ["12"])
        let keys = CustomerIdentifiers(originalTransactionIds: ["11"], transactionIds: [])
        #expect(try await store.customer(of: keys, in: scope)?.needsLookup == true)
        let unreported = try await store.unreportedRefunds(limit: 9)
        #expect(unreported.map(\.text) == ["12@2000"])
        try await store.markReported(unreported, in: ("refunds.jsonl", 100))
        #expect(try await store.unreportedRefunds(limit: 9).isEmpty)
        #expect(try await store.sizeOfRefundOutput("refunds.jsonl") == 100)
        #expect(try await store.sizeOfRefundOutput("other.jsonl") == nil)
        // The refund was reversed and then repeated, which is a new refund.
        let again = RefundRow(
            transaction: transaction("12", "12", at: 3_000, refunded: 2_500), date: Timestamp(milliseconds: 2_500))
        try await store.save([again], of: target, revision: "r9", at: Self.begin)
        #expect(try await store.unreportedRefunds(limit: 9).map(\.text) == ["12@3000"])
    }

    @Test("A refund that is already known does not mark its customer as stale")
    func known() async throws {
        try await store.save(
            CustomerRow(
                askedAt: Timestamp(milliseconds: 1), signedDate: Timestamp(milliseconds: 2_000), appAppleId: 7,
                revision: "r", transactions: [transaction("11", "11", at: 2_000, refunded: 1_500)], statuses: [],
                renewals: [], aliases: []), of: scope)
        let target = try #require(try await store.refundTargets(notSweptSince: Self.begin).first)
        let row = RefundRow(
            transaction: transaction("11", "11", at: 3_000, refunded: 1_500), date: Timestamp(milliseconds: 1_500))
        try await store.save([row], of: target, revision: "r8", at: Self.begin)
        let keys = CustomerIdentifiers(originalTransactionIds: ["11"], transactionIds: [])
        #expect(try await store.customer(of: keys, in: scope)?.needsLookup == false)
        #expect(try await store.unreportedRefunds(limit: 9).count == 1)
    }

    @Test("An extension is stored once for each request")
    func extensions() async throws {
        let id = try #require(TransactionIdentifier(rawValue: "11"))
        func row(_ request: String, at date: Int64) -> ExtensionRow {
            ExtensionRow(
                originalTransactionId: "11", requestIdentifier: request, days: 30, reason: 1,
                extendedAt: Timestamp(milliseconds: date), effectiveDate: nil)
        }
        for row in [row("b", at: 2), row("a", at: 1), row("b", at: 3)] { try await store.save(row, of: scope) }
        #expect(try await store.extensions(of: id, in: scope) == [row("a", at: 1), row("b", at: 2)])
        let sandbox = AppScope(bundleId: scope.bundleId, environment: .sandbox)
        #expect(try await store.extensions(of: id, in: sandbox).isEmpty)
    }
}
