import ReceiptBridgeBase

/// A status and renewal info of one subscription, as a row of the table `subscription`. The row can be without either,
/// and each of the two replaces the stored one if it is newer.
package struct SubscriptionColumns: Sendable {
    /// Position of subscriptions that no lookup has returned yet: after all others. An existing row keeps its position.
    static let lastPlace: Int64 = 1_000_000
    /// Clock of a row without status or renewal info: older than any.
    static let noClock: Int64 = -1

    package let originalTransactionId: String
    package private(set) var place = lastPlace
    package private(set) var status: Int64?
    package private(set) var statusClock = noClock
    package private(set) var group: String?
    package private(set) var renewal: EncodedJWS?
    package private(set) var renewalClock = noClock

    init(_ row: RenewalRow, as text: EncodedJWS) {
        originalTransactionId = row.originalTransactionId
        (renewal, renewalClock) = (text, row.signedDate.milliseconds)
    }

    /// - Parameter place: position among the customer's subscriptions.
    init(_ row: StatusRow, place: Int64) {
        originalTransactionId = row.originalTransactionId
        self.place = place
        (status, statusClock) = (Int64(row.status), row.clock.milliseconds)
        group = row.subscriptionGroupIdentifier
    }

    static func rows(_ update: NotificationUpdate, as texts: EncodedNotification) -> [SubscriptionColumns] {
        [SubscriptionColumns(update, as: texts)].compactMap(\.self) + other(update)
    }

    /// The columns of a notification's renewal info and status; `nil` if it has neither. The status is left out if it
    /// is about another subscription than the renewal info, see ``other(_:)``.
    init?(_ update: NotificationUpdate, as texts: EncodedNotification) {
        let status = update.status.map { SubscriptionColumns($0, place: Self.lastPlace) }
        guard let row = update.renewal, let text = texts.renewal else {
            guard let status else { return nil }
            self = status
            return
        }
        self.init(row, as: text)
        if let status, status.originalTransactionId == originalTransactionId { add(status) }
    }

    /// The status of a notification if it is about another subscription than the renewal info. Apple's notifications
    /// are about one.
    package static func other(_ update: NotificationUpdate) -> [SubscriptionColumns] {
        guard let renewal = update.renewal, let status = update.status,
            renewal.originalTransactionId != status.originalTransactionId
        else { return [] }
        return [SubscriptionColumns(status, place: lastPlace)]
    }

    /// Adds the values of a later row of the same subscription, as ``update`` does in the database.
    mutating func add(_ other: SubscriptionColumns) {
        if other.place != Self.lastPlace { place = other.place }
        if other.statusClock > statusClock {
            (status, statusClock, group) = (other.status, other.statusClock, other.group ?? group)
        }
        if other.renewalClock > renewalClock { (renewal, renewalClock) = (other.renewal, other.renewalClock) }
    }

    package static func save(_ rows: [SubscriptionColumns], app: Int64, _ dialect: SQLDialect) -> [SQLStatement] {
        dialect.insert(rows.map { $0.values(app: app) }, into: .subscription, names, update(dialect))
    }

    /// The names of the columns, in the order of ``values(app:)``.
    package static let names = """
        app, originalTransactionId, place, status, statusClock, subscriptionGroupIdentifier, renewal, renewalClock
        """

    func values(app: Int64) -> [SQLValue] {
        [
            .integer(app), .text(originalTransactionId), .integer(place), SQLValue(status), .integer(statusClock),
            SQLValue(group), renewal.map { .jws($0) } ?? .null, .integer(renewalClock),
        ]
    }

    /// End of a statement that inserts rows: what becomes of existing ones.
    package static func update(_ dialect: SQLDialect) -> String {
        let hasStatus = dialect.isNewer("excluded.statusClock", than: "subscription.statusClock")
        let hasRenewal = dialect.isNewer("excluded.renewalClock", than: "subscription.renewalClock")
        return """
            ON CONFLICT (originalTransactionId, app) DO UPDATE SET
                place = CASE excluded.place WHEN \(lastPlace) THEN subscription.place ELSE excluded.place END,
                status = CASE WHEN \(hasStatus) THEN excluded.status ELSE subscription.status END,
                statusClock = CASE WHEN \(hasStatus) THEN excluded.statusClock ELSE subscription.statusClock END,
                subscriptionGroupIdentifier = CASE WHEN \(hasStatus)
                    THEN coalesce(excluded.subscriptionGroupIdentifier, subscription.subscriptionGroupIdentifier)
                    ELSE subscription.subscriptionGroupIdentifier END,
                renewal = CASE WHEN \(hasRenewal) THEN excluded.renewal ELSE subscription.renewal END,
                renewalClock = CASE WHEN \(hasRenewal) THEN excluded.renewalClock ELSE subscription.renewalClock END
                WHERE \(hasStatus) OR \(hasRenewal) OR excluded.place NOT IN (\(lastPlace), subscription.place)
            """
    }
}
