import Storage

/// The retention rule of one table: which rows are expired, and which rows of other tables are deleted with them.
struct RetentionRule: Sendable {
    /// How the rows of a table are found.
    enum Key: Sendable {
        /// By their id, in windows. If rows with larger ids are newer, the search ends at the first row that is not
        /// expired.
        case id(isInOrderOfAge: Bool)
        /// By the columns of the primary key. Such tables must be small, or have an index by age.
        case columns(String)
    }

    /// The kind of the rows, which has a ``DataKind/Lifetime/period(_:days:)``.
    let data: DataKind
    let table: String
    let key: Key
    /// The column with the id.
    var idColumn = "id"
    /// SQL condition of an expired row. `$1` is milliseconds since 1970, `$2` is days since 1970.
    let expiredCondition: String
    /// A further SQL condition of the rows that may be deleted.
    var deletableCondition = "true"
    /// SQL condition of the rows to search.
    var filter = "true"
    /// The column of `transactionRecord` with the ids of this table, if its rows are deleted with their records.
    var recordColumn: String?

    static let all: [RetentionRule] = [
        RetentionRule(
            data: .notifications, table: "notification", key: .id(isInOrderOfAge: true),
            expiredCondition: "receivedAt < $1::bigint"),
        RetentionRule(
            data: .deliveries, table: "delivery", key: .id(isInOrderOfAge: false),
            expiredCondition: "queuedAt < $1::bigint",
            deletableCondition: "state IN (\(DeliveryState.delivered.rawValue), \(DeliveryState.skipped.rawValue))"),
        RetentionRule(
            data: .supersededTransactions, table: "supersededTransaction", key: .id(isInOrderOfAge: true),
            expiredCondition: "signedDate < $1::bigint"),
        RetentionRule(
            data: .customers, table: "customer", key: .id(isInOrderOfAge: false),
            expiredCondition: "askedAt < $1::bigint",
            deletableCondition: """
                NOT EXISTS (
                    SELECT 1 FROM transactionRecord WHERE customer = customer.id AND signedDate >= $1::bigint)
                """, recordColumn: "customer"),
        // Records that are known only from notifications and belong to no customer.
        RetentionRule(
            data: .transactions, table: "transactionRecord", key: .id(isInOrderOfAge: false),
            expiredCondition: "signedDate < $1::bigint", filter: "customer IS NULL AND place = 0",
            recordColumn: "id"),
        RetentionRule(
            data: .events, table: "events", key: .id(isInOrderOfAge: true), idColumn: "sequence",
            expiredCondition: "time < $1::bigint"),
        RetentionRule(
            data: .presenters, table: "presenter", key: .id(isInOrderOfAge: true),
            expiredCondition: "seenAt < $1::bigint"),
        RetentionRule(
            data: .refunds, table: "refund", key: .id(isInOrderOfAge: false), expiredCondition: "date < $1::bigint",
            deletableCondition: "isTold"),
        RetentionRule(
            data: .learntIdentifiers, table: "learntIdentifiers", key: .columns("receipt"),
            expiredCondition: "learntAt < $1::bigint"),
        RetentionRule(
            data: .renewalExtensions, table: "renewalExtension",
            key: .columns("originalTransactionId, app, requestIdentifier"),
            expiredCondition: "extendedAt < $1::bigint"),
        RetentionRule(
            data: .orders, table: "orderLookup", key: .id(isInOrderOfAge: false),
            expiredCondition: "lastAskedAt < $1::bigint"),
        RetentionRule(
            data: .differences, table: "difference", key: .columns("key"), expiredCondition: "day < $2::bigint"),
        RetentionRule(
            data: .comparisons, table: "comparison", key: .columns("day, bundleId, environment, outcome"),
            expiredCondition: "day < $2::bigint"),
        RetentionRule(
            data: .comparedCustomers, table: "comparedCustomer", key: .columns("bundleId, environment, customer"),
            expiredCondition: "day < $2::bigint"),
        RetentionRule(
            data: .rolloutCustomers, table: "rolloutCustomer", key: .columns("rollout, environment, customer"),
            expiredCondition: "comparedAt < $1::bigint"),
    ]

    /// The FROM and WHERE clauses that select the rows to delete.
    var source: String { "FROM \(table) WHERE \(filter) AND \(expiredCondition) AND \(deletableCondition)" }

    /// Returns the statements that delete the records of rows, and what belongs to the records. `$1` is their ids.
    ///
    /// - Parameter column: see ``recordColumn``.
    static func deletions(ofRecords column: String) -> [String] {
        let records = "FROM transactionRecord WHERE \(column) = ANY ($1::bigint[])"
        return [
            "DELETE FROM refundSweep WHERE (identifier, app) IN (SELECT transactionId, app \(records))",
            "DELETE FROM supersededTransaction WHERE (transactionId, app) IN (SELECT transactionId, app \(records))",
            """
            DELETE FROM subscription WHERE (originalTransactionId, app) IN (SELECT originalTransactionId, app \(records))
            AND NOT EXISTS (
                SELECT 1 FROM transactionRecord AS other
                WHERE other.originalTransactionId = subscription.originalTransactionId
                AND other.app = subscription.app
                AND (other.\(column) IS NULL OR other.\(column) <> ALL ($1::bigint[])))
            """,
            "DELETE \(records)",
        ]
    }
}
