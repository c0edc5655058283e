import ReceiptBridgeBase
import ReceiptBridgeCryptography
import Foundation
package import ReceiptBridgeStorage

/// The data of one customer, with rows in every repository of a store. All ids begin with the same 14 digits.
package struct CustomerDataFixture: Sendable {
    package let prefix: String
    /// The account token, which is only in a replaced version of a transaction and in a notification; `nil` for none.
    package let token: String?
    package let scope: AppScope

    /// The time of everything that the store records by its own clock.
    private static let now = Timestamp(milliseconds: 9_000)

    package init(_ prefix: String, token: String?, in scope: AppScope) {
        self.prefix = prefix
        self.token = token
        self.scope = scope
    }

    /// The names and numbers of the rows that an erasure of this customer deletes.
    package static let kinds = [
        "deliveries 2", "bodies 2", "consumptionCases 1", "notifications 4", "supersededTransactions 3",
        "transactions 2", "subscriptions 1", "companions 1", "customers 1", "revocations 2", "events 5",
        "presenters 2", "learntIdentifiers 1", "lastGoodAnswers 1", "comparisonExamples 1", "comparedCustomers 1",
        "importedRows 3", "importCustomers 4",
    ]

    // MARK: - Rows

    /// Returns a compact JWS in Apple's format, with a signature of 64 bytes.
    package static func jws(_ payload: String) -> String {
        let payload = Data(payload.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
        return "eyJhbGciOiJFUzI1NiJ9.\(payload).\(String(repeating: "A", count: 86))"
    }

    /// Returns a transaction, whose JWS contains its ids and the token.
    package static func transaction(
        _ id: String, _ original: String, token: String? = nil, at date: Int64 = 1_000, isRefunded: Bool = false,
        download: String? = nil
    ) -> TransactionRow {
        let tokenMember = token.map { ",\"appAccountToken\":\"\($0)\"" } ?? ""
        return TransactionRow(
            transactionId: id, originalTransactionId: original, appTransactionId: download ?? "\(original.dropLast())7",
            isSubscription: true, signedDate: Timestamp(milliseconds: date),
            revocation: isRefunded ? RevocationRow(id, lineItem: "55\(id)", at: date, reason: 1, signed: date) : nil,
            text: jws("{\"transactionId\":\"\(id)\",\"originalTransactionId\":\"\(original)\"\(tokenMember)}"))
    }

    private func notification(_ uuid: String, _ version: Int = 2, text: String) -> NotificationRow {
        NotificationRow(
            uuid: uuid, version: version, type: "REFUND", subtype: nil, signedDate: Timestamp(milliseconds: 2_000),
            receivedAt: Timestamp(milliseconds: 2_000), text: text,
            rawBody: version == 2 ? [0x7B, 0x20, 0x7D] : nil)
    }

    // MARK: - Saving

    package func save(to store: any Store) async throws {
        try await saveHistory(to: store)
        try await saveNotifications(to: store)
        try await saveOperations(to: store)
        try await saveObservations(to: store)
    }

    private var original: String { "\(prefix)1" }
    private var second: String { "\(prefix)2" }

    private func saveHistory(to store: any Store) async throws {
        try await store.customers.save(
            CustomerRow(
                [Self.transaction(original, original), Self.transaction(second, original)], asked: 1,
                statuses: [StatusRow(original, group: "g")],
                renewals: [RenewalRow(original, Self.jws("{\"originalTransactionId\":\"\(original)\"}"))],
                aliases: ["\(prefix)8"]), of: scope)
    }

    private func saveNotifications(to store: any Store) async throws {
        let targetKey = ForwardingTargetKey(bundleId: scope.bundleId, form: "raw", url: "http://127.0.0.1:9/")
        // The later version of the second transaction no longer has the token.
        for (name, token, date) in [("a", token, Int64(2_000)), ("b", nil, 3_000)] {
            let row = Self.transaction(second, original, token: token, at: date, isRefunded: true)
            _ = try await store.notifications.save(
                notification(
                    "\(prefix)\(name)", text: Self.jws("{\"data\":{\"signedTransactionInfo\":\"\(row.text)\"}}")),
                NotificationUpdate(transaction: row), of: scope, for: [targetKey])
        }
        try await store.consumption.markAnswered("\(prefix)b", at: Self.now)
        // A notification about the app download only, and a version 1 notification without a known customer.
        let download = Self.jws("{\"appTransactionId\":\"\(prefix)7\"}")
        _ = try await store.notifications.save(
            notification("\(prefix)c", text: Self.jws("{\"appData\":{\"signedAppTransactionInfo\":\"\(download)\"}}")),
            NotificationUpdate(), of: scope)
        _ = try await store.notifications.save(
            hint: notification("\(prefix)d", 1, text: "{\"original_transaction_id\":\(prefix)1}"), about: [], of: scope)
    }

    private func saveOperations(to store: any Store) async throws {
        let run = try await store.imports.beginImport("in.jsonl", progress: "{}")
        let app = scope.bundleId.rawValue
        let customers: [ImportGroup?] = [
            ImportGroup(bundleId: app, environment: scope.environment.rawValue, identifiers: ["\(prefix)1"]),
            ImportGroup(bundleId: app, environment: "", identifiers: [second, "1"], isProven: false), nil,
        ]
        // The third one is refused, and its ids are known only as text.
        var batch = ImportBatch()
        for (index, customer) in customers.enumerated() {
            let list = ["originalTransactionIds", "kind", "unverifiedIds"][index]
            batch.add(
                ImportBatch.values([
                    "row": .integer((Int64(prefix.prefix(6)) ?? 1) * 10 + Int64(index)),
                    list: .text("[\"\(prefix)1\"]"),
                    "outcome": .text(index == 2 ? "refused" : "decoded"),
                ]), of: customer)
        }
        _ = try await store.imports.add(batch, to: run.id, .progress("{}"))
        guard let identifier = TransactionIdentifier(rawValue: original) else { return }
        try await store.refunds.save(
            [
                RefundRow(
                    transaction: Self.transaction(second, original, at: 4_000, isRefunded: true),
                    date: Timestamp(milliseconds: 4_000))
            ], in: scope, at: Self.now)
        let download = TransactionIdentifier(rawValue: "\(prefix)7")
        _ = try await store.presenters.presenters(
            of: [identifier, download].compactMap(\.self), in: scope, claimingFor: [1, 2], at: Self.now)
    }

    private func saveObservations(to store: any Store) async throws {
        try await store.revocations.saveIdentifiers(
            CustomerIdentifiers(originalTransactionIds: [original], transactionIds: ["\(prefix)9"]),
            of: Array("\(prefix)-digest".utf8), at: Self.now)
        _ = try await store.archive.save(
            ArchivedResponseRow(
                question: Array("\(prefix)-question".utf8), status: 0,
                body: Array("{\"original_transaction_id\":\"\(original)\"}".utf8), latestReceipt: nil,
                digest: [1], originals: ["1\(prefix)", original]), of: scope, at: Self.now)
        try await store.revocations.save(
            revoked: [RevocationRow("\(prefix)9")], valid: [], askedAt: .now, of: scope)
        let (bundleId, environment) = (scope.bundleId.rawValue, scope.environment.rawValue)
        try await store.comparisons.add(
            comparisons: [],
            differences: [
                DifferenceCount(
                    day: 1, bundleId: bundleId, environment: environment, verdict: "unexpected",
                    rule: "\(prefix.prefix(3))", path: "x", count: 1, first: 1, last: 1,
                    examples: [Array("{\"identifier\":\"\(second)\"}".utf8)])
            ],
            customers: [
                ComparedCustomers(
                    day: 1, bundleId: bundleId, environment: environment, digests: [SHA.short(second)],
                    block: "api 5.0 0.5", different: [SHA.short(second)])
            ])
    }
}

extension ImportBatch {
    /// Values of a row, in the order of their columns. Those that are not given are those of a decoded row without ids.
    package static func values(_ given: [String: SQLValue]) -> [SQLValue] {
        let texts = ["rowId": "u", "outcome": "decoded", "kind": "appReceipt"]
        let (lists, flags) = (["repairs", "originalTransactionIds", "transactionIds", "unverifiedIds"], ["lacksKey"])
        return StoreTable.importedColumns.split(separator: ", ").map(String.init).map { column in
            if let value = given[column] ?? texts[column].map(SQLValue.text) { return value }
            if column == "verified" || flags.contains(column) { return .boolean(column == "verified") }
            return lists.contains(column) ? .text("[]") : .null
        }
    }
}
