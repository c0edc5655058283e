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
    /// Counts and differences of the shadow comparison, and compared customers.
    package var comparisons: Int64? = 90
    /// Completed deliveries. Waiting and abandoned ones are kept as long as their notification.
    package var forwardedDeliveries: Int64? = 30
    /// Identifiers of receipts, since Apple returned them.
    package var learntIdentifiers: Int64? = 400
    /// Events of type `refund`, since they were stored.
    package var refunds: Int64? = 800
    /// Other events of customers, and what is left of erased ones, since they were stored.
    package var events: Int64? = 30

    package init() {}
}
