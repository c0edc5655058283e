import PostgreSQLClient
package import Storage

/// The erasure rule of one table: which rows belong to a customer.
///
/// Every table is either in ``erased`` or in ``exempt``. A test compares both with the tables of the store.
package struct ErasureRule: Sendable {
    /// Name of the table.
    package let table: String
    package let data: DataKind
    /// SQL condition that selects the customer's rows. Its parameters are those of ``CustomerDataSearch/arguments``.
    let condition: String

    /// The rules in an order in which foreign keys allow the rows to be deleted.
    package static let erased: [ErasureRule] = [
        .init("delivery", .deliveries, "notification IN (\(theirNotifications))"),
        .init("unusualBody", .bodies, "notification IN (\(theirNotifications))"),
        .init("consumptionCase", .consumptionCases, "notification IN (\(theirNotifications))"),
        .init("notification", .notifications, "id IN (\(theirNotifications))"),
        .init("supersededTransaction", .supersededTransactions, "transactionId = ANY (\(ids)) AND app = \(app)"),
        .init("transactionRecord", .transactions, "transactionId = ANY (\(ids)) AND app = \(app)"),
        .init("subscription", .subscriptions, "originalTransactionId = ANY (\(ids)) AND app = \(app)"),
        .init("companion", .companions, "customer = ANY (\(customers))"),
        .init("customer", .customers, "id = ANY (\(customers))"),
        .init("revocation", .revocations, "transactionId = ANY (\(ids)) AND app = \(app)"),
        .init("events", .events, events),
        .init("presenter", .presenters, "originalTransactionId = ANY ($11::text[]) AND app = \(app)"),
        .init("refund", .refunds, "transactionId = ANY (\(ids)) AND app = \(app)"),
        .init("refundSweep", .refundSweeps, "identifier = ANY (\(ids)) AND app = \(app)"),
        .init("renewalExtension", .renewalExtensions, "originalTransactionId = ANY (\(ids)) AND app = \(app)"),
        .init("orderLookup", .orders, "string_to_array(identifiers, ' ') && \(ids) AND app = \(app)"),
        .init("learntIdentifiers", .learntIdentifiers, "receipt = ANY ($7::bytea[])"),
        .init("lastGood", .lastGoodAnswers, "id = ANY ($6::bigint[])"),
        .init("differenceExample", .comparisonExamples, "id = ANY ($5::bigint[])"),
        .init(
            "comparedCustomer", .comparedCustomers,
            "customer = ANY ($8::bigint[]) AND bundleId = $9::text AND environment = $10::text"),
        .init(
            "rolloutCustomer", .rolloutCustomers,
            """
            customer = ANY ($8::bigint[]) AND environment = $10::text
            AND rollout IN (SELECT id FROM rollout WHERE bundleId = $9::text)
            """),
    ]

    /// Tables whose rows expire within minutes. An erasure deletes the customer's rows, and does not count them. A row of
    /// `change` can name other customers, too: every server clears the caches of all customers after an erasure.
    static let uncounted: [ErasureRule] = [
        .init(
            "change", .changes,
            "(identifiers && \(ids) OR transactionIds && \(ids)) AND app = \(app)"),
        .init("lookup", .lookups, "identifier = ANY (\(ids)) AND app = \(app)"),
    ]

    /// Tables without personal data, and those of ``uncounted``.
    package static let exempt: [String: DataKind] = [
        "app": .apps, "addressee": .targets, "comparison": .comparisons, "difference": .differences,
        "refundOutput": .refundOutputs, "signedHeader": .signers, "erasure": .erasures,
        "handleKey": .handleKeys, "erasedIdentifier": .erasedIdentifiers,
        "lease": .leases, "rollout": .rollouts, "reconciliation": .reconciliations,
        "change": .changes, "lookup": .lookups, "callBucket": .callBuckets, "server": .servers,
    ]

    /// Tables that the engine needs for itself: locks, schema steps and ids of additions. They have no values from
    /// outside.
    package static let internalTables: Set<String> = ["lockSlot", "schemaStep", "comparisonFlush", "notificationGap"]

    private static let (app, ids, customers) = ("$1::bigint", "$2::text[]", "$3::bigint[]")
    /// The events of the customer, without what is left of an earlier erasure.
    static let events = """
        customer = ANY (\(ids)) AND app = $9::text AND environment = $10::text
        AND type <> '\(EventType.erasure.rawValue)'
        """
    private static let theirNotifications = """
        SELECT id FROM notification WHERE originalTransactionId = ANY (\(ids)) AND app = \(app)
        UNION SELECT unnest($4::bigint[])
        """

    private init(_ table: String, _ data: DataKind, _ condition: String) {
        self.table = table
        self.data = data
        self.condition = condition
    }
}
