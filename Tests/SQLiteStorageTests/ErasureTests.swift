import Cryptography
import Foundation
import GRDB
import SQLiteStorage
import Storage
import AppStoreTypes
import TestSupport
import Testing

@Suite("Erasure of a customer")
struct ErasureTests {
    private let folder: TemporaryFolder
    private let store: SQLiteStore
    private let scope: AppScope
    private static let now = Timestamp(milliseconds: 9_000)
    private static let token = "5f0c1d1e-6f2b-4c8a-9d3e-7a1b2c3d4e5f"
    private static let otherToken = "00000000-6f2b-4c8a-9d3e-7a1b2c3d4e5f"

    init() throws {
        folder = try TemporaryFolder()
        store = try SQLiteStore(path: folder.path("bridge.sqlite"))
        let bundleId = try #require(BundleIdentifier(rawValue: "com.example.app"))
        scope = AppScope(bundleId: bundleId, environment: .production)
    }

    // MARK: - Customers

    /// A compact JWS in Apple's format, with a signature of 64 bytes.
    private func jws(_ json: String) -> String {
        let payload = Data(json.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
        return "eyJhbGciOiJFUzI1NiJ9.\(payload).\(String(repeating: "A", count: 86))"
    }

    private func transaction(
        _ id: String, _ original: String, token: String?, at date: Int64 = 1_000, isRefunded: Bool = false,
        download: String? = nil
    ) -> TransactionRow {
        let tokenMember = token.map { ",\"appAccountToken\":\"\($0)\"" } ?? ""
        return TransactionRow(
            transactionId: id, originalTransactionId: original, appTransactionId: download ?? "\(original.dropLast())7",
            isSubscription: true, signedDate: Timestamp(milliseconds: date),
            revocation: isRefunded
                ? RevocationRow(
                    transactionId: id, webOrderLineItemId: "55\(id)", date: Timestamp(milliseconds: date), reason: 1,
                    signedDate: Timestamp(milliseconds: date)) : nil,
            text: jws("{\"transactionId\":\"\(id)\",\"originalTransactionId\":\"\(original)\"\(tokenMember)}"))
    }

    private func notification(_ uuid: String, _ version: Int = 2, text: String) -> NotificationRow {
        NotificationRow(
            uuid: uuid, version: version, type: "REFUND", subtype: nil, signedDate: Timestamp(milliseconds: 2_000),
            receivedAt: Timestamp(milliseconds: 2_000), text: text,
            rawBody: version == 2 ? [0x7B, 0x20, 0x7D] : nil)
    }

    /// Inserts rows into every table. All ids of the customer begin with `prefix`, which has 14 digits.
    private func fill(_ prefix: String, token: String?, in scope: AppScope) async throws {
        let (original, second) = ("\(prefix)1", "\(prefix)2")
        let rows = [transaction(original, original, token: nil), transaction(second, original, token: nil)]
        try await store.save(
            CustomerRow(
                askedAt: Timestamp(milliseconds: 1), signedDate: Timestamp(milliseconds: 1_000), appAppleId: 7,
                revision: "r", transactions: rows,
                statuses: [
                    StatusRow(
                        originalTransactionId: original, status: 1, subscriptionGroupIdentifier: "g",
                        clock: Timestamp(milliseconds: 1_000))
                ],
                renewals: [
                    RenewalRow(
                        originalTransactionId: original, signedDate: Timestamp(milliseconds: 1_000),
                        text: jws("{\"originalTransactionId\":\"\(original)\"}"))
                ], aliases: ["\(prefix)8"]), of: scope)
        let targetKey = ForwardingTargetKey(bundleId: scope.bundleId, form: "raw", url: "http://127.0.0.1:9/")
        // The later version of the second transaction no longer has the token.
        for (name, token, date) in [("a", token, Int64(2_000)), ("b", nil, 3_000)] {
            let update = NotificationUpdate(
                transaction: transaction(second, original, token: token, at: date, isRefunded: true))
            _ = try await store.save(
                notification(
                    "\(prefix)\(name)", text: jws("{\"data\":{\"signedTransactionInfo\":\"\(update.text)\"}}")),
                update,
                of: scope, for: [targetKey])
        }
        // A notification about the app download only, and a version 1 notification without a known customer.
        let download = jws("{\"appTransactionId\":\"\(prefix)7\"}")
        _ = try await store.save(
            notification("\(prefix)c", text: jws("{\"appData\":{\"signedAppTransactionInfo\":\"\(download)\"}}")),
            NotificationUpdate(), of: scope)
        _ = try await store.save(
            hint: notification("\(prefix)d", 1, text: "{\"original_transaction_id\":\(prefix)1}"), about: [], of: scope)
        let identifier = try #require(TransactionIdentifier(rawValue: original))
        try await store.save(
            [
                RefundRow(
                    transaction: transaction(second, original, token: nil, at: 4_000, isRefunded: true),
                    date: Timestamp(milliseconds: 4_000))
            ], of: RefundTarget(scope: scope, identifier: identifier, revision: nil), revision: "r", at: Self.now)
        try await store.save(
            ExtensionRow(
                originalTransactionId: original, requestIdentifier: "\(prefix)e", days: 3, reason: 1,
                extendedAt: Self.now, effectiveDate: nil), of: scope)
        try await store.saveIdentifiers(
            CustomerIdentifiers(originalTransactionIds: [original], transactionIds: ["\(prefix)9"]),
            of: Array("\(prefix)-digest".utf8), at: Self.now)
        _ = try await store.save(
            ArchivedResponseRow(
                question: Array("\(prefix)-question".utf8), status: 0,
                body: Array("{\"original_transaction_id\":\"\(original)\"}".utf8), latestReceipt: nil,
                digest: [1], originals: ["1\(prefix)", original]), of: scope, at: Self.now)
        try await store.save(
            revoked: [
                RevocationRow(
                    transactionId: "\(prefix)9", webOrderLineItemId: nil, date: Timestamp(milliseconds: 1), reason: nil)
            ], valid: [], of: scope)
        try await store.add(
            comparisons: [],
            differences: [
                DifferenceCount(
                    day: 1, bundleId: scope.bundleId.rawValue, environment: scope.environment.rawValue,
                    verdict: "unexpected", rule: "\(prefix.prefix(3))", path: "x", count: 1, first: 1, last: 1,
                    examples: [Array("{\"identifier\":\"\(second)\"}".utf8)])
            ],
            customers: [
                ComparedCustomers(
                    day: 1, bundleId: scope.bundleId.rawValue, environment: scope.environment.rawValue,
                    digests: [SHA.short(second)])
            ])
    }

    private static let (mine, other) = ("73000000000000", "84000000000000")

    private func erase(_ id: String = "\(mine)1", keeps: Bool = false, dry: Bool = false) async throws -> Erasure {
        let id = try #require(TransactionIdentifier(rawValue: id))
        let request = ErasureRequest(.transaction(id), keepsRevocations: keeps)
        return try await dry ? store.footprint(of: request) : store.erase(request, at: Self.now)
    }

    // MARK: - The file

    private func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try DatabaseQueue(path: store.path).read(body)
    }

    private func tables() throws -> Set<String> {
        try read { db in
            try String.fetchSet(
                db,
                sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> ?",
                arguments: ["grdb_migrations"])
        }
    }

    private func counts() throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for table in try tables() {
            counts[table] = try read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") }
        }
        return counts
    }

    /// Returns whether the files of the store contain a text: as it is, or inside one or two levels of JWS.
    private func holds(_ text: String) -> Bool {
        let files = ["", "-wal"].map { suffix in
            (try? Data(contentsOf: URL(filePath: store.path + suffix))) ?? Data()
        }
        var shapes = [Data(text.utf8)]
        for _ in 0..<2 {
            shapes += shapes.flatMap { shape in
                (0..<3).map { shift in
                    // The bytes before and after it change the first and the last character.
                    let text = (Data(repeating: 0x20, count: shift) + shape).base64EncodedString()
                    return Data(text.utf8.dropFirst(shift == 0 ? 0 : shift + 1).dropLast(4))
                }
            }
        }
        return shapes.contains { shape in files.contains { $0.firstRange(of: shape) != nil } }
    }

    // MARK: - Tests

    @Test("Every table of the store is either erased or exempt with a reason")
    func everyTable() throws {
        let names = ErasureRule.erased.map(\.table) + ErasureRule.exempt.keys
        #expect(Set(names).count == names.count)
        #expect(try tables() == Set(names))
        for rule in ErasureRule.erased {
            if case .exempt = rule.data.erasure { Issue.record("\(rule.table) is exempt and erased") }
        }
        for (table, data) in ErasureRule.exempt {
            guard case .exempt(let reason) = data.erasure else {
                Issue.record("\(table) has no reason")
                continue
            }
            #expect(!reason.isEmpty)
        }
    }

    @Test("An erasure deletes the customer from every table and leaves no trace in the file, and keeps other customers")
    func whole() async throws {
        try await fill(Self.other, token: Self.otherToken, in: scope)
        let alone = try counts()
        try await fill(Self.mine, token: Self.token, in: scope)
        let both = try counts()
        for rule in ErasureRule.erased {
            #expect(both[rule.table]! > alone[rule.table]!, "\(rule.table) is not tested")
        }
        for text in ["\(Self.mine)1", Self.token] { #expect(holds(text)) }
        let preview = try await erase(dry: true)
        #expect(try counts() == both)
        let erasure = try await erase()
        #expect(erasure == preview && erasure.scopes == [scope])
        #expect(
            erasure.kinds.map { "\($0.name) \($0.count)" } == [
                "deliveries 2", "bodies 2", "notifications 4", "supersededTransactions 3",
                "transactions 2", "subscriptions 1", "companions 1", "customers 1", "revocations 2", "refunds 1",
                "refundSweeps 1",
                "renewalExtensions 1", "learntIdentifiers 1", "lastGoodAnswers 1", "comparisonExamples 1",
                "comparedCustomers 1",
            ])
        #expect(erasure.waitingDeliveries == 2)
        try await store.compact()
        var after = try counts()
        #expect(after["erasure"] == 1)
        after["erasure"] = 0
        var expected = alone
        expected["difference"] = both["difference"]
        #expect(after == expected)
        for text in ["\(Self.mine)1", "\(Self.mine)2", "\(Self.mine)9", Self.token] { #expect(!holds(text), "\(text)") }
        for text in ["\(Self.other)1", "\(Self.other)9", Self.otherToken] { #expect(holds(text), "\(text)") }
        #expect(try await erase().isEmpty)
    }

    @Test("An account token selects all customers with the token in a record, case-insensitively, and no others")
    func token() async throws {
        try await fill(Self.other, token: Self.otherToken, in: scope)
        try await fill(Self.mine, token: Self.token, in: scope)
        let sandbox = AppScope(bundleId: scope.bundleId, environment: .sandbox)
        try await fill("20000000000000", token: Self.token, in: sandbox)
        let token = try #require(UUID(uuidString: Self.token))
        let narrow = try await store.footprint(of: ErasureRequest(.accountToken(token), environment: .sandbox))
        #expect(narrow.scopes == [sandbox])
        let unknown = try #require(BundleIdentifier(rawValue: "com.example.other"))
        #expect(try await store.erase(ErasureRequest(.accountToken(token), bundleId: unknown), at: Self.now).isEmpty)
        let erasure = try await store.erase(ErasureRequest(.accountToken(token)), at: Self.now)
        #expect(erasure.scopes == [scope, sandbox])
        #expect(erasure.kinds.first { $0.name == "transactions" }?.count == 4)
        try await store.compact()
        #expect(!holds(Self.token) && holds(Self.otherToken))
    }

    @Test(
        "A customer known only from an archived response is found by every id and by the token in it, with all purchases"
    )
    func answers() async throws {
        func archive(_ question: String, _ ids: [String], _ token: String) async throws {
            let rows = ids.map { #"{"transaction_id":"\#($0)","app_account_token":"\#(token)"}"# }
            _ = try await store.save(
                ArchivedResponseRow(
                    question: Array(question.utf8), status: 0,
                    body: Array("{\"latest_receipt_info\":[\(rows.joined(separator: ","))]}".utf8), latestReceipt: nil,
                    digest: [1], originals: [ids[0]]), of: scope, at: Self.now)
        }
        try await archive("a", ["91000000000001", "91000000000002"], Self.token)
        try await archive("b", ["92000000000001", "92000000000002"], Self.otherToken)
        let token = try #require(UUID(uuidString: Self.token))
        let byToken = try await store.footprint(of: ErasureRequest(.accountToken(token)))
        #expect(byToken.kinds == [.init(name: "lastGoodAnswers", count: 1)])
        #expect(try await erase("91000000000002", dry: true) == byToken)
        // The history does not contain that period yet.
        try await store.save(
            CustomerRow(
                askedAt: Self.now, signedDate: Self.now, appAppleId: nil, revision: "r",
                transactions: [transaction("91000000000001", "91000000000001", token: nil)], statuses: [], renewals: [],
                aliases: []),
            of: scope)
        let erasure = try await erase("91000000000002")
        #expect(erasure.kinds.map(\.name) == ["transactions", "customers", "lastGoodAnswers"], "\(erasure.kinds)")
        try await store.compact()
        #expect(!holds(Self.token) && !holds("91000000000002") && holds(Self.otherToken))
    }

    @Test("Only the ids and dates of refunded purchases can be kept")
    func revocations() async throws {
        try await fill(Self.mine, token: Self.token, in: scope)
        let erasure = try await erase(keeps: true)
        #expect(erasure.keptRevocations == 2 && !erasure.kinds.contains { $0.name == "revocations" })
        let remaining = try await store.revocations(limit: 9)[scope] ?? []
        #expect(
            Set(remaining) == [
                RevocationRow(
                    transactionId: "\(Self.mine)2", webOrderLineItemId: nil, date: Timestamp(milliseconds: 4_000),
                    reason: nil),
                RevocationRow(
                    transactionId: "\(Self.mine)9", webOrderLineItemId: nil, date: Timestamp(milliseconds: 1),
                    reason: nil),
            ])
        try await store.compact()
        #expect(!holds("\(Self.mine)1") && !holds("55\(Self.mine)2"))
    }

    @Test("A customer is found by an alias, and an alias that is another customer's id is not erased")
    func aliases() async throws {
        try await fill(Self.mine, token: nil, in: scope)
        #expect(try await erase("\(Self.mine)8", dry: true) == erase(dry: true))
        let other = transaction("\(Self.mine)8", "\(Self.mine)8", token: nil, download: "99999999999999")
        try await store.save(
            CustomerRow(
                askedAt: Self.now, signedDate: Self.now, appAppleId: nil, revision: "r", transactions: [other],
                statuses: [], renewals: [], aliases: []), of: scope)
        #expect(try await !erase().isEmpty)
        let keys = CustomerIdentifiers(originalTransactionIds: ["\(Self.mine)8"], transactionIds: [])
        #expect(try await store.customer(of: keys, in: scope)?.transactions == [other.text])
    }

    @Test("Erasing an unknown customer erases nothing and records no erasure")
    func nobody() async throws {
        try await fill(Self.other, token: nil, in: scope)
        #expect(try await erase().isEmpty)
        #expect(try await store.lastErasure() == nil)
    }
}

extension NotificationUpdate {
    fileprivate var text: String { transaction?.text ?? "" }
}
