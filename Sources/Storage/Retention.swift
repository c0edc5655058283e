/// Retention periods of the store in days; `nil` keeps the rows forever.
///
/// Revocations of refunded purchases are always kept: an id and a date, without which a refunded receipt would count
/// again.
package struct Retention: Sendable, Hashable {
    /// Notifications and their deliveries, since they were received.
    package var notifications: Int64? = 400
    /// Replaced versions of a transaction, since they were signed.
    package var superseded: Int64? = 400
    /// Customers, since their last lookup and their last signed record.
    package var customers: Int64? = 800
    /// Counts and differences of the shadow comparison.
    package var comparisons: Int64? = 90
    /// Completed deliveries. Waiting and abandoned ones are kept as long as their notification.
    package var forwardedDeliveries: Int64? = 30
    /// Identifiers of receipts, since Apple returned them.
    package var learntIdentifiers: Int64? = 400
    /// Reported refunds, since the refund.
    package var refunds: Int64? = 800
    /// Extended renewal dates, since the extension.
    package var renewalExtensions: Int64? = 400

    package init() {}
}

/// The retention rule of one table: which rows are expired, and which rows of other tables are deleted with them.
struct RetentionRule: Sendable {
    /// Name of the rows in the result. Several rules may have the same.
    let kind: String
    let days: @Sendable (Retention) -> Int64?
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
            kind: "notifications", days: \.notifications, table: "notification",
            expiredCondition: "receivedAt < :before"),
        RetentionRule(
            kind: "forwardedDeliveries", days: \.forwardedDeliveries, table: "delivery",
            expiredCondition: "queuedAt < :before",
            deletableCondition: "state IN (\(DeliveryState.delivered.rawValue), \(DeliveryState.skipped.rawValue))",
            isInOrderOfAge: false),
        RetentionRule(
            kind: "superseded", days: \.superseded, table: "supersededTransaction",
            expiredCondition: "signedDate < :before"),
        RetentionRule(
            kind: "customers", days: \.customers, table: "customer", expiredCondition: "askedAt < :before",
            deletableCondition: """
                NOT EXISTS (SELECT 1 FROM transactionRecord WHERE customer = customer.id AND signedDate >= :before)
                """,
            isInOrderOfAge: false, dependents: dependents(ofRecords: "customer")),
        // Records that are known only from notifications and belong to no customer.
        RetentionRule(
            kind: "transactions", days: \.customers, table: "transactionRecord",
            expiredCondition: "signedDate < :before",
            filter: "customer IS NULL AND place = 0", isInOrderOfAge: false, dependents: dependents(ofRecords: "id")),
        RetentionRule(
            kind: "refunds", days: \.refunds, table: "refund", expiredCondition: "date < :before",
            deletableCondition: "isTold = 1",
            isInOrderOfAge: false),
        RetentionRule(
            kind: "learntIdentifiers", days: \.learntIdentifiers, table: "learntIdentifiers", primaryKey: "receipt",
            expiredCondition: "learntAt < :before"),
        RetentionRule(
            kind: "renewalExtensions", days: \.renewalExtensions, table: "renewalExtension",
            primaryKey: "originalTransactionId, app, requestIdentifier", expiredCondition: "extendedAt < :before"),
        RetentionRule(
            kind: "comparisons", days: \.comparisons, table: "difference", expiredCondition: "day < :beforeDay"),
        RetentionRule(
            kind: "comparisons", days: \.comparisons, table: "comparison",
            primaryKey: "day, bundleId, environment, outcome", expiredCondition: "day < :beforeDay"),
        RetentionRule(
            kind: "comparisons", days: \.comparisons, table: "comparedCustomer",
            primaryKey: "bundleId, environment, customer", expiredCondition: "day < :beforeDay"),
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
