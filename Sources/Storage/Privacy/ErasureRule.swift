/// The erasure rule of one table: which rows belong to a customer.
///
/// Every table is either in ``erased(_:)`` or in ``exempt``, or belongs to the engine. A test compares them with the
/// tables of the store.
package struct ErasureRule: Sendable {
    /// Name of the table.
    package let table: String
    package let data: DataKind
    /// SQL condition that selects the customer's rows. Its parameters are those of ``CustomerSearch/values``.
    let condition: String

    /// The rules in an order in which foreign keys allow the rows to be deleted.
    package static func erased(_ dialect: SQLDialect) -> [ErasureRule] {
        func isTheirs(_ column: String) -> String { "\(dialect.isAny(column, "$2")) AND app = $1" }
        let theirNotifications = """
            SELECT id FROM notification WHERE \(isTheirs("originalTransactionId"))
            UNION SELECT id FROM notification WHERE \(dialect.isAny("id", "$4"))
            """
        return [
            .init("delivery", .deliveries, "notification IN (\(theirNotifications))"),
            .init("unusualBody", .bodies, "notification IN (\(theirNotifications))"),
            .init("consumptionCase", .consumptionCases, "notification IN (\(theirNotifications))"),
            .init("notification", .notifications, "id IN (\(theirNotifications))"),
            .init("supersededTransaction", .supersededTransactions, isTheirs("transactionId")),
            .init("transactionRecord", .transactions, isTheirs("transactionId")),
            .init("subscription", .subscriptions, isTheirs("originalTransactionId")),
            .init("companion", .companions, dialect.isAny("customer", "$3")),
            .init("customer", .customers, dialect.isAny("id", "$3")),
            .init("revocation", .revocations, isTheirs("transactionId")),
            .init("events", .events, events(dialect)),
            .init("presenter", .presenters, "\(dialect.isAny("originalTransactionId", "$11")) AND app = $1"),
            .init("refund", .refunds, isTheirs("transactionId")),
            .init("refundSweep", .refundSweeps, isTheirs("identifier")),
            .init("renewalExtension", .renewalExtensions, isTheirs("originalTransactionId")),
            .init("orderLookup", .orders, "app = $1 AND \(dialect.hasWord("identifiers", "$2"))"),
            .init("learntIdentifiers", .learntIdentifiers, dialect.isAnyBytes("receipt", "$7")),
            .init("lastGood", .lastGoodAnswers, dialect.isAny("id", "$6")),
            .init("differenceExample", .comparisonExamples, dialect.isAny(dialect.rowID, "$5")),
            .init(
                "comparedCustomer", .comparedCustomers,
                "\(dialect.isAny("customer", "$8")) AND bundleId = $9 AND environment = $10"),
            .init(
                "rolloutCustomer", .rolloutCustomers,
                """
                \(dialect.isAny("customer", "$8")) AND environment = $10
                AND rollout IN (SELECT id FROM rollout WHERE bundleId = $9)
                """),
        ]
    }

    /// Tables without personal data.
    package static let exempt: [String: DataKind] = [
        "app": .apps, "addressee": .targets, "comparison": .comparisons, "difference": .differences,
        "refundOutput": .refundOutputs, "signedHeader": .signers, "erasure": .erasures,
        "handleKey": .handleKeys, "erasedIdentifier": .erasedIdentifiers,
        "lease": .leases, "rollout": .rollouts, "reconciliation": .reconciliations,
    ]

    /// The events of the customer, without what is left of an earlier erasure.
    static func events(_ dialect: SQLDialect) -> String {
        """
        \(dialect.isAny("customer", "$2")) AND app = $9 AND environment = $10
        AND type <> '\(EventType.erasure.rawValue)'
        """
    }

    package init(_ table: String, _ data: DataKind, _ condition: String) {
        self.table = table
        self.data = data
        self.condition = condition
    }
}
