import Storage

/// The retention rule of one table: which rows are expired, and which rows of other tables are deleted with them.
struct RetentionRule: Sendable {
    /// The kind of the rows, which has a ``DataKind/Lifetime/period(_:days:)``.
    let data: DataKind
    let table: String
    /// For tables without a rowid: the columns of the primary key. Such tables must be small, or have an index by
    /// age.
    var primaryKey: String?
    /// SQL condition of an expired row. `:before` is milliseconds since 1970, `:beforeDay` is days since 1970.
    let expiredCondition: String
    /// A further SQL condition of the rows that may be deleted.
    var deletableCondition = "1"
    /// SQL condition of the rows to scan; all rows if `nil`.
    var filter: String?
    /// `true` if rows with larger rowids are newer. Then the scan ends at the first row that is not expired.
    var isInOrderOfAge = true
    /// Statements that delete rows of other tables first; `:keys` is a JSON array of rowids.
    var dependents: [String] = []

    static let keys = "(SELECT value FROM json_each(:keys))"

    static let all: [RetentionRule] = [
        RetentionRule(
            data: .notifications, table: "notification",
            expiredCondition: "receivedAt < :before"),
        RetentionRule(
            data: .deliveries, table: "delivery",
            expiredCondition: "queuedAt < :before",
            deletableCondition: "state IN (\(DeliveryState.delivered.rawValue), \(DeliveryState.skipped.rawValue))",
            isInOrderOfAge: false),
        RetentionRule(
            data: .supersededTransactions, table: "supersededTransaction",
            expiredCondition: "signedDate < :before"),
        RetentionRule(
            data: .customers, table: "customer", expiredCondition: "askedAt < :before",
            deletableCondition: """
                NOT EXISTS (SELECT 1 FROM transactionRecord WHERE customer = customer.id AND signedDate >= :before)
                """,
            isInOrderOfAge: false, dependents: dependents(ofRecords: "customer")),
        // Records that are known only from notifications and belong to no customer.
        RetentionRule(
            data: .transactions, table: "transactionRecord",
            expiredCondition: "signedDate < :before",
            filter: "customer IS NULL AND place = 0", isInOrderOfAge: false, dependents: dependents(ofRecords: "id")),
        RetentionRule(data: .events, table: "events", expiredCondition: "time < :before"),
        RetentionRule(
            data: .presenters, table: "presenter", expiredCondition: "seenAt < :before"),
        RetentionRule(
            data: .refunds, table: "refund", expiredCondition: "date < :before",
            deletableCondition: "isTold = 1",
            isInOrderOfAge: false),
        RetentionRule(
            data: .learntIdentifiers, table: "learntIdentifiers", primaryKey: "receipt",
            expiredCondition: "learntAt < :before"),
        RetentionRule(
            data: .renewalExtensions, table: "renewalExtension",
            primaryKey: "originalTransactionId, app, requestIdentifier", expiredCondition: "extendedAt < :before"),
        RetentionRule(
            data: .orders, table: "orderLookup", expiredCondition: "lastAskedAt < :before", isInOrderOfAge: false),
        RetentionRule(
            data: .differences, table: "difference", expiredCondition: "day < :beforeDay"),
        RetentionRule(
            data: .comparisons, table: "comparison",
            primaryKey: "day, bundleId, environment, outcome", expiredCondition: "day < :beforeDay"),
        RetentionRule(
            data: .comparedCustomers, table: "comparedCustomer",
            primaryKey: "bundleId, environment, customer", expiredCondition: "day < :beforeDay"),
        RetentionRule(
            data: .rolloutCustomers, table: "rolloutCustomer", primaryKey: "rollout, environment, customer",
            expiredCondition: "comparedAt < :before"),
    ]

    /// Returns the statements that delete the records of a customer, and what belongs to them.
    ///
    /// - Parameter column: the column of `transactionRecord` that contains the keys.
    private static func dependents(ofRecords column: String) -> [String] {
        let records = "FROM transactionRecord WHERE \(column) IN \(keys)"
        return [
            "DELETE FROM refundSweep WHERE (identifier, app) IN (SELECT transactionId, app \(records))",
            "DELETE FROM supersededTransaction WHERE (transactionId, app) IN (SELECT transactionId, app \(records))",
            """
            DELETE FROM subscription WHERE (originalTransactionId, app) IN (SELECT originalTransactionId, app \(records))
            AND NOT EXISTS (
                SELECT 1 FROM transactionRecord AS other
                WHERE other.originalTransactionId = subscription.originalTransactionId
                AND other.app = subscription.app AND (other.\(column) IS NULL OR other.\(column) NOT IN \(keys)))
            """,
            "DELETE \(records)",
        ]
    }
}
