package import ReceiptBridgeBase
import ReceiptBridgeCore
package import ReceiptBridgeStorage

/// A list of customers or subscriptions. Each line is a transaction id or a JSON object, for example a line of
/// `migrate`'s results:
///
///     730000000000058
///     {"originalTransactionIds": ["730000000000058"], "environment": "Production", "bundleId": "com.example.app"}
///
/// The id of an object is the first of `originalTransactionIds`, `originalTransactionId`, `transactionIds`,
/// `transactionId` and `id`. If `environment` is missing, the given one applies, and if `bundleId` is missing, the app
/// that is found for the id; a wrong one is an error. Lines without an id, for example of receipts without purchases,
/// are skipped.
package struct RefundList: Sendable {
    package struct Entry: Sendable, Hashable {
        package let identifier: TransactionIdentifier
        package let scope: AppScope
    }

    package let entries: [Entry]
    package let skipped: Int

    /// - Parameter app: returns the app of a line that names none.
    /// - Throws: ``InvalidOperation`` for a line that is neither an id nor an object, and the errors of `app`.
    package init(
        _ bytes: [UInt8], environment: AppStoreEnvironment,
        app: (TransactionIdentifier, AppStoreEnvironment) async throws -> BundleIdentifier
    ) async throws {
        var entries: [Entry] = []
        var seen: Set<Entry> = []
        var skipped = 0
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let text = String(decoding: line, as: UTF8.self).trimmingPrefix(while: \.isWhitespace)
            guard !text.isEmpty else { continue }
            let found: (id: String?, bundleId: BundleIdentifier?, environment: AppStoreEnvironment)
            if text.first == "{" {
                guard let object = try? JSONObject(Array(line)), let line = try? Self.read(object, environment) else {
                    throw InvalidOperation(
                        "--ids: line \(index + 1) is not a JSON object with an id, or its bundleId or environment is wrong"
                    )
                }
                found = line
            } else {
                found = (String(text.prefix { !$0.isWhitespace }), nil, environment)
            }
            guard let id = found.id else {
                skipped += 1
                continue
            }
            guard let identifier = TransactionIdentifier(rawValue: id) else {
                throw InvalidOperation("--ids: line \(index + 1) is not a transaction id of 1 to 20 digits")
            }
            let bundleId =
                if let named = found.bundleId { named } else { try await app(identifier, found.environment) }
            let entry = Entry(
                identifier: identifier, scope: AppScope(bundleId: bundleId, environment: found.environment))
            if seen.insert(entry).inserted { entries.append(entry) }
        }
        self.entries = entries
        self.skipped = skipped
    }

    /// Reads a line. A line of `migrate`'s results has `originalTransactionIds`; its `id` is the row's id and is not a
    /// transaction id.
    private static func read(
        _ object: JSONObject, _ environment: AppStoreEnvironment
    ) throws -> (id: String?, bundleId: BundleIdentifier?, environment: AppStoreEnvironment) {
        let known =
            try object.texts("originalTransactionIds")?.first ?? object.text("originalTransactionId")
            ?? object.texts("transactionIds")?.first ?? object.text("transactionId")
        let isResult = object.has("originalTransactionIds")
        guard let id = try known ?? (isResult ? nil : object.text("id")) else { return (nil, nil, environment) }
        let bundleId = try object.text("bundleId").map { BundleIdentifier(rawValue: $0) }
        guard bundleId.map({ $0 != nil }) ?? true,
            let environment = AppStoreEnvironment(rawValue: try object.text("environment") ?? environment.rawValue)
        else { throw InvalidOperation("the bundleId or the environment is wrong") }
        return (id, bundleId ?? nil, environment)
    }
}
