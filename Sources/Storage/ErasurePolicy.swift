/// The rule of one table for erasing a customer.
///
/// Every table is either in ``erased`` or in ``exempt``. A test compares both with the tables of the store.
package struct ErasurePolicy: Sendable {
    package let name: String
    /// The name of the rows in the result, for example `transactions`.
    let kind: String
    /// SQL condition that selects the customer's rows. `:app` is the row id of the app; `:ids`, `:customers`,
    /// `:notifications`, `:examples`, `:answers`, `:learnt` and `:digests` are JSON arrays.
    let condition: String

    /// The rules in an order in which foreign keys allow the rows to be deleted.
    package static let erased: [ErasurePolicy] = [
        .init(deliveries, "deliveries", "notification IN (\(theirNotifications))"),
        .init("unusualBody", "bodies", "notification IN (\(theirNotifications))"),
        .init("notification", "notifications", "id IN (\(theirNotifications))"),
        .init("supersededTransaction", "supersededTransactions", "transactionId IN \(ids) AND app = :app"),
        .init("transactionRecord", "transactions", "transactionId IN \(ids) AND app = :app"),
        .init("subscription", "subscriptions", "originalTransactionId IN \(ids) AND app = :app"),
        .init("companion", "companions", "customer IN \(list("customers"))"),
        .init("customer", "customers", "id IN \(list("customers"))"),
        .init(revocations, "revocations", "transactionId IN \(ids) AND app = :app"),
        .init("refund", "refunds", "transactionId IN \(ids) AND app = :app"),
        .init("refundSweep", "refundSweeps", "identifier IN \(ids) AND app = :app"),
        .init("renewalExtension", "renewalExtensions", "originalTransactionId IN \(ids) AND app = :app"),
        .init("learntIdentifiers", "learntIdentifiers", "hex(receipt) IN \(list("learnt"))"),
        .init("lastGood", "lastGoodAnswers", "id IN \(list("answers"))"),
        .init("differenceExample", "comparisonExamples", "rowid IN \(list("examples"))"),
        .init(
            "comparedCustomer", "comparedCustomers",
            "customer IN \(list("digests")) AND bundleId = :bundleId AND environment = :environment"),
    ]

    /// Tables without personal data, and the reason.
    package static let exempt: [String: String] = [
        "app": "a bundle id and an environment",
        "addressee": "where notifications are forwarded to",
        "comparison": "counts",
        "difference": "counts; the examples are erased",
        "refundOutput": "the length of a file",
        "signedHeader": "certificates of the App Store's signers",
        "erasure": "time and number of rows of each erasure, without identifiers",
    ]

    /// Names of two tables that the erasure treats specially.
    static let (revocations, deliveries) = ("revocation", "delivery")

    private static let ids = list("ids")
    private static let theirNotifications = """
        SELECT id FROM notification WHERE originalTransactionId IN \(ids) AND app = :app
        UNION SELECT value FROM json_each(:notifications)
        """

    /// A subquery over the JSON array that is bound to a parameter.
    private static func list(_ name: String) -> String { "(SELECT value FROM json_each(:\(name)))" }

    private init(_ name: String, _ kind: String, _ condition: String) {
        self.name = name
        self.kind = kind
        self.condition = condition
    }
}
