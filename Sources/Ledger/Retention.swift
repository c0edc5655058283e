/// How long things stay in the store, in days; nil is for good.
///
/// Refunded purchases that are known stay for good: an id and a date, without which a receipt would count again.
package struct Retention: Sendable, Hashable {
    /// Since they came in; with what became of their deliveries.
    package var notifications: Int64? = 400
    /// Earlier words on a purchase, since they were signed.
    package var superseded: Int64? = 400
    /// Of whom nothing was asked and nothing was heard.
    package var customers: Int64? = 800
    /// Differences that the shadow found.
    package var comparisons: Int64? = 90
    /// Deliveries that are done; those that wait or were given up stay as long as their notification.
    package var forwardedDeliveries: Int64? = 30
    /// Since Apple named them.
    package var learntIdentifiers: Int64? = 400
    /// Refunds that were told, since they were made.
    package var refunds: Int64? = 800
    /// Renewal dates that were moved.
    package var renewalExtensions: Int64? = 400

    package init() {}
}

/// What of one table is too old, and what goes with it.
struct RetentionRule: Sendable {
    let kind: String
    let days: @Sendable (Retention) -> Int64?
    let table: String
    /// Of tables without a rowid the columns of the primary key: small ones, or with an index by age.
    var primaryKey: String?
    /// `:before` is milliseconds since 1970, `:beforeDay` days.
    let isPast: String
    /// What besides must hold.
    var mayGo = "1"
    /// Rows of the table that are looked at; all where it is nil.
    var among: String?
    /// Rows that come later are younger: where one is not past, those behind it need not be looked at.
    var isInOrderOfAge = true
    /// What goes first; `:keys` is a list in JSON.
    var dependents: [String] = []

    static let keys = "(SELECT value FROM json_each(:keys))"

    static let all: [RetentionRule] = [
        RetentionRule(
            kind: "notifications", days: \.notifications, table: "notification", isPast: "receivedAt < :before"),
        RetentionRule(
            kind: "forwardedDeliveries", days: \.forwardedDeliveries, table: "delivery", isPast: "queuedAt < :before",
            mayGo: "state IN (\(DeliveryState.delivered.rawValue), \(DeliveryState.skipped.rawValue))",
            isInOrderOfAge: false),
        RetentionRule(
            kind: "superseded", days: \.superseded, table: "supersededTransaction", isPast: "signedDate < :before"),
        RetentionRule(
            kind: "customers", days: \.customers, table: "customer", isPast: "askedAt < :before",
            mayGo: """
                NOT EXISTS (SELECT 1 FROM transactionRecord WHERE customer = customer.id AND signedDate >= :before)
                """,
            isInOrderOfAge: false, dependents: dependents(ofRecords: "customer")),
        // Of whom only notifications told.
        RetentionRule(
            kind: "transactions", days: \.customers, table: "transactionRecord", isPast: "signedDate < :before",
            among: "customer IS NULL AND place = 0", isInOrderOfAge: false, dependents: dependents(ofRecords: "id")),
        RetentionRule(
            kind: "refunds", days: \.refunds, table: "refund", isPast: "date < :before", mayGo: "isTold = 1",
            isInOrderOfAge: false),
        RetentionRule(
            kind: "learntIdentifiers", days: \.learntIdentifiers, table: "learntIdentifiers", primaryKey: "receipt",
            isPast: "learntAt < :before"),
        RetentionRule(
            kind: "renewalExtensions", days: \.renewalExtensions, table: "renewalExtension",
            primaryKey: "originalTransactionId, app, requestIdentifier", isPast: "extendedAt < :before"),
        RetentionRule(kind: "comparisons", days: \.comparisons, table: "difference", isPast: "day < :beforeDay"),
        RetentionRule(
            kind: "comparisons", days: \.comparisons, table: "comparison",
            primaryKey: "day, bundleId, environment, outcome", isPast: "day < :beforeDay"),
        RetentionRule(
            kind: "comparisons", days: \.comparisons, table: "comparedCustomer",
            primaryKey: "bundleId, environment, customer", isPast: "day < :beforeDay"),
    ]

    /// - Parameter column: of `transactionRecord`, which the keys are of.
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
