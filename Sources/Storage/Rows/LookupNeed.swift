package import ReceiptBridgeBase

/// Which customers need a lookup: those that an event marked, and those that were last looked up at a time whose
/// notifications may be missing.
package struct LookupNeed: Sendable, Hashable {
    /// The apps whose customers can be looked up.
    package let apps: [BundleIdentifier]
    /// Customers without a mark need a lookup if the last one began in this time.
    package let start, end: Timestamp

    /// The largest `storedMaxAge`: no answer is made from older records. A lookup of customers who have not been asked
    /// for in that time would only extend the time for which they are stored.
    private static let horizon = Duration.days(30)

    /// - Parameter end: lookups before this time may lack something; `nil` if none do.
    package init(of apps: [BundleIdentifier], before end: Timestamp?, at now: Timestamp) {
        self.apps = apps
        start = now.advanced(by: .zero - Self.horizon)
        self.end = end ?? start
    }

    /// The SQL that counts the customers of each app that need a lookup, from the whole table, in a store that may be
    /// of an earlier version. The rows are a bundle id and a count.
    package static func counts(at now: Timestamp) -> String {
        let conditions = conditions(oldest(at: now), firstNotification)
        return """
            SELECT bundleId, count(*) FROM customer JOIN app ON app.id = customer.app
            WHERE \(conditions.map { "(\($0))" }.joined(separator: " OR ")) GROUP BY bundleId
            """
    }

    /// The SQL that counts the customers that need no lookup, so that a server can answer them from the store.
    package static func completeCustomers(at now: Timestamp) -> String {
        let isMissing = conditions(oldest(at: now), firstNotification).map { "coalesce(\($0), false)" }
        return """
            SELECT count(*) FROM customer
            WHERE needsLookupSince IS NULL AND NOT (\(isMissing.joined(separator: " OR ")))
            """
    }

    private static let firstNotification = "(SELECT receivedAt FROM notification WHERE version = 2 ORDER BY id LIMIT 1)"

    private static func oldest(at now: Timestamp) -> String { "\(now.advanced(by: .zero - horizon).milliseconds)" }

    /// The conditions of customers, of which each customer meets at most one. An index serves each. They name the
    /// bounds of the time.
    static func conditions(_ start: String, _ end: String) -> [String] {
        ["needsLookupSince > 0", "needsLookupSince IS NULL AND askedAt >= \(start) AND askedAt < \(end)"]
    }
}
