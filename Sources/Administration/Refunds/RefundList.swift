package import Base
package import Operations
package import Storage

/// A list of customers or subscriptions. Each line is a transaction id or a JSON object, for example a line of
/// `migrate`'s results:
///
///     730000000000058
///     {"originalTransactionIds": ["730000000000058"], "environment": "Production", "bundleId": "com.example.app"}
///
/// The id of an object is the first of `originalTransactionIds`, `originalTransactionId`, `transactionIds`,
/// `transactionId` and `id`. If `environment` or `bundleId` is missing, the given scope applies; a wrong one is an
/// error. Lines without an id, for example of receipts without purchases, are skipped.
package struct RefundList: Sendable {
    /// A transaction of the customer, with its app and environment.
    package struct Entry: Sendable, Hashable {
        package let identifier: TransactionIdentifier
        package let scope: AppScope
    }

    package let entries: [Entry]
    /// Number of lines without an id.
    package let skipped: Int

    /// - Throws: ``InvalidOperation`` for a line that is neither an id nor an object.
    package init(_ bytes: [UInt8], scope: AppScope) throws(InvalidOperation) {
        var entries: [Entry] = []
        var seen: Set<String> = []
        var skipped = 0
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let text = String(decoding: line, as: UTF8.self).trimmingPrefix(while: \.isWhitespace)
            guard !text.isEmpty else { continue }
            let found: (String?, AppScope)
            if text.first == "{" {
                guard let object = try? JSONObject(Array(line)), let pair = try? Self.read(object, scope) else {
                    throw InvalidOperation(
                        "--ids: line \(index + 1) is not a JSON object with an id, or its bundleId or environment is wrong"
                    )
                }
                found = pair
            } else {
                found = (String(text.prefix { !$0.isWhitespace }), scope)
            }
            guard let id = found.0 else {
                skipped += 1
                continue
            }
            guard let identifier = TransactionIdentifier(rawValue: id) else {
                throw InvalidOperation("--ids: line \(index + 1) is not a transaction id of 1 to 20 digits")
            }
            if seen.insert("\(id) \(found.1.bundleId) \(found.1.environment.rawValue)").inserted {
                entries.append(Entry(identifier: identifier, scope: found.1))
            }
        }
        self.entries = entries
        self.skipped = skipped
    }

    /// Reads the id and the scope of a line. A line of `migrate`'s results has `originalTransactionIds`; its `id` is
    /// the row's id and is not a transaction id.
    private static func read(_ object: JSONObject, _ scope: AppScope) throws -> (String?, AppScope) {
        let known =
            try object.texts("originalTransactionIds")?.first ?? object.text("originalTransactionId")
            ?? object.texts("transactionIds")?.first ?? object.text("transactionId")
        let isResult = object.has("originalTransactionIds")
        guard let id = try known ?? (isResult ? nil : object.text("id")) else { return (nil, scope) }
        guard let bundleId = BundleIdentifier(rawValue: try object.text("bundleId") ?? scope.bundleId.rawValue),
            let environment = AppStoreEnvironment(
                rawValue: try object.text("environment") ?? scope.environment.rawValue)
        else { throw InvalidOperation("the bundleId or the environment is wrong") }
        return (id, AppScope(bundleId: bundleId, environment: environment))
    }
}
