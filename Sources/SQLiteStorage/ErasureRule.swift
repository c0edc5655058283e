package import Storage

/// The erasure rule of one table: which rows belong to a customer.
///
/// Every table is either in ``erased`` or in ``exempt``. A test compares both with the tables of the store.
package struct ErasureRule: Sendable {
    /// Name of the table.
    package let table: String
    package let data: DataKind
    /// SQL condition that selects the customer's rows. `:app` is the row id of the app; `:ids`, `:owners`,
    /// `:customers`, `:notifications`, `:examples`, `:answers`, `:learnt` and `:digests` are JSON arrays.
    let condition: String

    /// The rules in an order in which foreign keys allow the rows to be deleted.
    package static let erased: [ErasureRule] = [
        .init("delivery", .deliveries, "notification IN (\(theirNotifications))"),
        .init("unusualBody", .bodies, "notification IN (\(theirNotifications))"),
        .init("consumptionCase", .consumptionCases, "notification IN (\(theirNotifications))"),
        .init("notification", .notifications, "id IN (\(theirNotifications))"),
        .init("supersededTransaction", .supersededTransactions, "transactionId IN \(ids) AND app = :app"),
        .init("transactionRecord", .transactions, "transactionId IN \(ids) AND app = :app"),
        .init("subscription", .subscriptions, "originalTransactionId IN \(ids) AND app = :app"),
        .init("companion", .companions, "customer IN \(list("customers"))"),
        .init("customer", .customers, "id IN \(list("customers"))"),
        .init("revocation", .revocations, "transactionId IN \(ids) AND app = :app"),
        .init("events", .events, events),
        .init("presenter", .presenters, "originalTransactionId IN \(list("owners")) AND app = :app"),
        .init("refund", .refunds, "transactionId IN \(ids) AND app = :app"),
        .init("refundSweep", .refundSweeps, "identifier IN \(ids) AND app = :app"),
        .init("renewalExtension", .renewalExtensions, "originalTransactionId IN \(ids) AND app = :app"),
        .init(
            "orderLookup", .orders,
            """
            app = :app AND EXISTS (
                SELECT 1 FROM json_each(:ids) WHERE instr(' ' || identifiers || ' ', ' ' || value || ' ') > 0)
            """),
        .init("learntIdentifiers", .learntIdentifiers, "hex(receipt) IN \(list("learnt"))"),
        .init("lastGood", .lastGoodAnswers, "id IN \(list("answers"))"),
        .init("differenceExample", .comparisonExamples, "rowid IN \(list("examples"))"),
        .init(
            "comparedCustomer", .comparedCustomers,
            "customer IN \(list("digests")) AND bundleId = :bundleId AND environment = :environment"),
        .init(
            "rolloutCustomer", .rolloutCustomers,
            """
            customer IN \(list("digests")) AND environment = :environment
            AND rollout IN (SELECT id FROM rollout WHERE bundleId = :bundleId)
            """),
    ]

    /// Tables without personal data.
    package static let exempt: [String: DataKind] = [
        "app": .apps, "addressee": .targets, "comparison": .comparisons, "difference": .differences,
        "refundOutput": .refundOutputs, "signedHeader": .signers, "erasure": .erasures,
        "handleKey": .handleKeys, "erasedIdentifier": .erasedIdentifiers,
        "lease": .leases, "rollout": .rollouts, "reconciliation": .reconciliations,
    ]

    private static let ids = list("ids")
    /// The events of the customer, without what is left of an earlier erasure.
    static let events = """
        customer IN \(ids) AND app = :bundleId AND environment = :environment
        AND type <> '\(EventType.erasure.rawValue)'
        """
    private static let theirNotifications = """
        SELECT id FROM notification WHERE originalTransactionId IN \(ids) AND app = :app
        UNION SELECT value FROM json_each(:notifications)
        """

    /// A subquery over the JSON array that is bound to a parameter.
    private static func list(_ name: String) -> String { "(SELECT value FROM json_each(:\(name)))" }

    private init(_ table: String, _ data: DataKind, _ condition: String) {
        self.table = table
        self.data = data
        self.condition = condition
    }
}
